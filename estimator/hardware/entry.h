#pragma once

#include <memory>
#include <string>
#include <vector>

namespace dlcost {

// A device file as a tree, with the place where everything was written. A value carries its source
// and remarks, however it was written:
//     bandwidth: 2039 GB/s [datasheet]
//     bandwidth: {value: 2039 GB/s, source: datasheet, elsewhere: 2048 GB/s in ..., note: ...}
// A `source:` inside a section holds for all of its values that name none.
struct Entry {
  enum class Kind { kValue, kMap, kList };

  Kind kind = Kind::kValue;
  std::string key;  // of this entry in its map; empty in lists
  std::string value;
  std::string source;  // resolved: the text of the file's `sources:`, or "derived from ..."
  std::string elsewhere;
  std::string note;
  std::string differs;
  std::vector<Entry> children;  // of maps and lists, in file order
  std::shared_ptr<const std::string> file;
  int line = 0;  // from 1; 0 for what comes from the command line

  const Entry* Find(const std::string& child) const;
  // "hw_specs/a100.yaml:12"
  std::string Where() const;
};

// Reads one file (at most 1 MiB), sources resolved. Errors carry file:line.
Entry LoadEntries(const std::string& path);
// The same from memory; `name` stands for the file in errors.
Entry ParseEntries(const std::string& text, const std::string& name);

// `over` wins, section by section and value by value. Notes add up (those of `over` first); names
// and aliases belong to one file and are not inherited.
Entry MergeEntries(Entry base, const Entry& over);

// Sets the value at a dotted path ("memory.bandwidth"), making sections on the way.
void OverrideEntry(Entry& root, const std::string& path, const std::string& value);

}  // namespace dlcost
