#include "estimator/cli/applies.h"

#include <fmt/format.h>

#include <algorithm>

#include "estimator/core/error.h"
#include "estimator/core/shell.h"

namespace dlcost {

void Applicability::Require(bool given, const std::string& option, const std::string& where,
                            const std::vector<std::string>& without,
                            const std::string& more) const {
  if (!given) return;
  std::string command = "dlcost";
  for (std::size_t i = 0; i < words_.size(); ++i) {
    const std::string& word = words_[i];
    const std::string name = word.substr(0, word.find('='));
    const bool goes = std::find(without.begin(), without.end(), word) != without.end() ||
                      std::find(without.begin(), without.end(), name) != without.end();
    if (!goes) {
      command += " " + ShellWord(word);
    } else if (word.starts_with("--") && name == word) {
      ++i;  // its value
    }
  }
  throw Error("{} changes nothing {}; try: {}{}", option, where, command,
              more.empty() ? "" : " " + more);
}

std::string Applicability::With(const std::map<std::string, std::string>& others) const {
  std::string command = "dlcost";
  for (const std::string& word : words_) {
    const auto other = others.find(word);
    command += " " + ShellWord(other == others.end() ? word : other->second);
  }
  return command;
}

}  // namespace dlcost
