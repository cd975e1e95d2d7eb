// dlcost_embed HW_SPECS OUTPUT.cc: the files of hw_specs/ as the constants that embedded.h
// describes. Runs while dlcost is built; a file that is none of these ends the build.
#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "estimator/core/error.h"
#include "estimator/hardware/entry.h"

namespace dlcost {
namespace {

namespace fs = std::filesystem;

// Texts that are in the output, each once.
class Texts {
 public:
  Texts() { Offset(""); }

  std::uint32_t Offset(const std::string& text) {
    if (text.find('\0') != std::string::npos) throw Error("a text with a NUL in it");
    const auto [it, added] = offsets_.emplace(text, size_);
    if (added) {
      order_.push_back(&it->first);
      size_ += static_cast<std::uint32_t>(text.size() + 1);
    }
    return it->second;
  }

  void Write(std::ostream& out) const {
    for (const std::string* text : order_) {
      out << "    \"";
      for (const char c : *text) {
        const auto byte = static_cast<unsigned char>(c);
        char octal[8];
        if (byte < ' ' || byte > '~' || c == '"' || c == '\\' || c == '?') {
          std::snprintf(octal, sizeof octal, "\\%03o", byte);
          out << octal;
        } else {
          out << c;
        }
      }
      out << "\\000\"\n";
    }
  }

 private:
  std::map<std::string, std::uint32_t> offsets_;
  std::vector<const std::string*> order_;
  std::uint32_t size_ = 0;
};

std::string Lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

void AddEntry(const Entry& entry, Texts& texts, std::vector<std::uint32_t>& numbers) {
  numbers.push_back(static_cast<std::uint32_t>(entry.kind));
  for (const std::string* text :
       {&entry.key, &entry.value, &entry.source, &entry.elsewhere, &entry.note, &entry.differs}) {
    numbers.push_back(texts.Offset(*text));
  }
  numbers.push_back(static_cast<std::uint32_t>(entry.line));
  numbers.push_back(static_cast<std::uint32_t>(entry.children.size()));
  for (const Entry& child : entry.children) AddEntry(child, texts, numbers);
}

std::vector<std::string> FilesBelow(const fs::path& root) {
  std::vector<std::string> files;
  for (const auto& file : fs::recursive_directory_iterator(root)) {
    if (file.path().extension() == ".yaml") {
      files.push_back(file.path().lexically_relative(root).generic_string());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

void WritePairs(std::ostream& out,
                const std::vector<std::pair<std::uint32_t, std::uint32_t>>& all) {
  for (const auto& [first, second] : all) out << "    {" << first << ", " << second << "},\n";
}

void Embed(const fs::path& root, const fs::path& output) {
  Texts texts;
  std::vector<std::uint32_t> numbers;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> files;
  std::map<std::string, std::uint32_t> ids, aliases;
  for (const std::string& file : FilesBelow(root)) {
    const auto index = static_cast<std::uint32_t>(files.size());
    files.emplace_back(texts.Offset(file), static_cast<std::uint32_t>(numbers.size()));
    const Entry entry = LoadEntries((root / file).string());
    AddEntry(entry, texts, numbers);
    const fs::path folder = fs::path(file).parent_path();
    const auto name = [&](const std::string& text) {
      return (folder / Lower(text)).generic_string();
    };
    ids.emplace(name(fs::path(file).stem().string()), index);
    if (const Entry* list = entry.Find("aliases")) {
      for (const Entry& alias : list->children) aliases.emplace(name(alias.value), index);
    }
  }
  ids.insert(aliases.begin(), aliases.end());  // an id wins against an alias
  std::vector<std::pair<std::uint32_t, std::uint32_t>> names;
  for (const auto& [name, file] : ids) names.emplace_back(texts.Offset(name), file);
  std::ofstream out(output, std::ios::binary);
  out << "// Written by estimator/hardware/embed/embed.cc from hw_specs/.\n"
         "#include \"estimator/hardware/embedded.h\"\n\nnamespace dlcost {\nnamespace {\n\n"
         "constexpr char kTexts[] =\n";
  texts.Write(out);
  out << "    ;\nconstexpr std::uint32_t kEntries[] = {\n";
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    out << numbers[i] << (i % 16 == 15 ? ",\n" : ",");
  }
  out << "};\nconstexpr EmbeddedFile kFiles[] = {\n";
  WritePairs(out, files);
  out << "};\nconstexpr EmbeddedName kNames[] = {\n";
  WritePairs(out, names);
  out << "};\n\n}  // namespace\n\n"
         "constexpr EmbeddedTables kEmbeddedTables = {kTexts, kEntries, kFiles, kNames};\n\n"
         "}  // namespace dlcost\n";
  out.flush();
  if (!out) throw Error("cannot write '{}'", output.string());
}

}  // namespace
}  // namespace dlcost

int main(int argc, char** argv) {
  try {
    if (argc != 3) throw dlcost::Error("usage: dlcost_embed HW_SPECS OUTPUT.cc");
    dlcost::Embed(argv[1], argv[2]);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "dlcost_embed: %s\n", error.what());
    return 2;
  }
}
