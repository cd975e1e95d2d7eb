#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "estimator/core/integer.h"
#include "estimator/hardware/device.h"
#include "estimator/hardware/entry.h"
#include "estimator/hardware/quantity_text.h"

namespace dlcost {

// What readers of a file in hw_specs/ share: sections with known keys, values with units, and the
// facts (value and document) that they leave. Errors carry file:line.
class SectionReader {
 protected:
  using Setter = std::function<void(const Entry&, const std::string& path)>;
  using Keys = std::vector<std::pair<std::string, Setter>>;

  explicit SectionReader(const Entry& root) : root_(root) {}

  // Throws Error unless `present`: "no 'name' given, as in 'name: My Chip'".
  void Require(bool present, const char* key, const char* example) const;
  // Calls the setters of the keys that the section has, in the order of `keys`. Throws Error for
  // any other key, with the nearest spelling.
  static void Section(const Entry& entry, const std::string& path, const Keys& keys);

  static void WantMap(const Entry& entry);
  static const std::string& WantText(const Entry& entry);
  static void WantList(const Entry& entry);
  // The text of a value that must be one of `allowed`.
  static const std::string& WantOneOf(const Entry& entry, const std::vector<std::string>& allowed);

  void AddFact(const Entry& entry, const std::string& path);
  // The value in SI units, kept as a fact.
  double Quantity(const Entry& entry, const std::string& path, Dimension dimension);

  static Setter TextInto(std::string& field) {
    return [&field](const Entry& entry, const std::string&) { field = WantText(entry); };
  }
  static Setter TextsInto(std::vector<std::string>& field);
  Setter Number(std::optional<int>* field) {
    return [this, field](const Entry& entry, const std::string& path) {
      *field = Truncate<int>(Quantity(entry, path, Dimension::kNumber));
    };
  }
  template <typename MeasureType>
  Setter Measured(std::optional<MeasureType>* field, Dimension dimension) {
    return [this, field, dimension](const Entry& entry, const std::string& path) {
      *field = MeasureType(Quantity(entry, path, dimension));
    };
  }
  Setter Size(std::optional<Bytes>* field) {
    return [this, field](const Entry& entry, const std::string& path) {
      *field = Bytes(RoundToInteger(Quantity(entry, path, Dimension::kByteSize)));
    };
  }
  // A year: no figure that needs a document.
  Setter Year(std::optional<int>* field) {
    return [this, field](const Entry& entry, const std::string& path) {
      Number(field)(entry, path);
      facts_.pop_back();
    };
  }

  const Entry& root_;
  std::vector<Fact> facts_;  // in the order in which they were read
};

}  // namespace dlcost
