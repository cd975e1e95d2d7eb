#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dlcost {

// A file mapped read-only: only pages that are looked at are read; "-" is standard input, read to
// its end. Throws Error for what is missing, unreadable, empty, a directory or not a regular file.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::string_view bytes() const {
    return data_ == nullptr ? std::string_view(read_) : std::string_view(data_, size_);
  }
  // Gives the pages before `offset` back to the system: around every byte that is looked at, it
  // maps pages by the dozen, which add up over the weights of a large model.
  void Forget(std::size_t offset) const;

 private:
  void ReadStandardInput();

  std::string read_;  // all of standard input
  const char* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace dlcost
