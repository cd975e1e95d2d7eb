#include "estimator/onnx/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "estimator/core/error.h"

namespace dlcost {
namespace {

// Closes the descriptor on every way out; the mapping outlives it.
struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) close(fd);
  }
};

}  // namespace

MappedFile::MappedFile(const std::string& path) {
  const Descriptor file{open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.fd < 0) throw Error("cannot open '{}': {}", Printable(path), std::strerror(errno));
  struct stat info {};
  if (fstat(file.fd, &info) != 0) {
    throw Error("cannot look at '{}': {}", Printable(path), std::strerror(errno));
  }
  if (S_ISDIR(info.st_mode)) throw Error("'{}' is a directory, not a file", Printable(path));
  if (!S_ISREG(info.st_mode)) throw Error("'{}' is not a regular file", Printable(path));
  size_ = static_cast<std::size_t>(info.st_size);
  if (size_ == 0) throw Error("'{}' is empty", Printable(path));
  void* mapped = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.fd, 0);
  if (mapped == MAP_FAILED) {
    throw Error("cannot map '{}': {}", Printable(path), std::strerror(errno));
  }
  data_ = static_cast<const char*>(mapped);
  madvise(mapped, size_, MADV_RANDOM);  // no read-ahead into weights
}

void MappedFile::Forget(std::size_t offset) const {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  if (offset >= page) madvise(const_cast<char*>(data_), offset / page * page, MADV_DONTNEED);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(const_cast<char*>(data_), size_);
}

}  // namespace dlcost
