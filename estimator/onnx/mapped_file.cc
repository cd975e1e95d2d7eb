#include "estimator/onnx/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "estimator/core/error.h"
#include "estimator/onnx/file_kind.h"

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
  if (path == "-") {
    ReadStandardInput();
    return;
  }
  const Descriptor file{open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.fd < 0) throw Error("cannot open '{}': {}", Printable(path), std::strerror(errno));
  struct stat info {};
  if (fstat(file.fd, &info) != 0) {
    throw Error("cannot look at '{}': {}", Printable(path), std::strerror(errno));
  }
  if (S_ISDIR(info.st_mode)) {
    const std::string kind = FolderKindHint(path);
    throw Error("'{}' is a directory, not a file{}{}", Printable(path), kind.empty() ? "" : "; ",
                kind);
  }
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

void MappedFile::ReadStandardInput() {
  std::string chunk(1 << 20, '\0');
  for (;;) {
    const ssize_t got = read(STDIN_FILENO, chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw Error("cannot read standard input: {}", std::strerror(errno));
    if (got == 0) break;
    read_.append(chunk, 0, static_cast<std::size_t>(got));
  }
  if (read_.empty()) throw Error("standard input is empty");
}

void MappedFile::Forget(std::size_t offset) const {
  if (data_ == nullptr) return;  // what was read stays
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  if (offset >= page) madvise(const_cast<char*>(data_), offset / page * page, MADV_DONTNEED);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(const_cast<char*>(data_), size_);
}

}  // namespace dlcost
