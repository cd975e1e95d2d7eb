#pragma once

#include <map>
#include <string>
#include <vector>

namespace dlcost {

// An option that would change nothing is refused with a command in which it does.
class Applicability {
 public:
  // `words`: the command line behind "dlcost".
  explicit Applicability(std::vector<std::string> words) : words_(std::move(words)) {}

  // Throws Error where `given`: "--top changes nothing with --format csv; try: dlcost ...", which
  // is the command line without the words `without` (options go with their values), and `more`
  // behind it.
  void Require(bool given, const std::string& option, const std::string& where,
               const std::vector<std::string>& without, const std::string& more = "") const;

  // The command line with other words in the place of some, as a person would type it.
  std::string With(const std::map<std::string, std::string>& others) const;

 private:
  std::vector<std::string> words_;
};

}  // namespace dlcost
