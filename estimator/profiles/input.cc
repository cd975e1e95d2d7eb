#include "estimator/profiles/input.h"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "estimator/core/error.h"

namespace dlcost {
namespace {
constexpr std::size_t kHeadBytes = 64 << 10;
constexpr std::uint64_t kProgressBytes = 64u << 20;
// A small gzip file can unpack without end; no profile that a person can use is this large.
constexpr std::uint64_t kMaxBytes = std::uint64_t{64} << 30;
}  // namespace

class Input::Source {
 public:
  virtual ~Source() = default;
  virtual std::size_t Read(char* buffer, std::size_t size) = 0;
};

// zlib reads both plain files and gzip files, so there is one way in for both.
class GzipFileSource {
 public:
  explicit GzipFileSource(const std::string& path)
      : path_(path), file_(gzopen(path.c_str(), "rb")) {
    if (!file_) throw Error("{}: cannot open: {}", Printable(path), std::strerror(errno));
    gzbuffer(file_, 1 << 18);
  }
  GzipFileSource(const GzipFileSource&) = delete;
  GzipFileSource& operator=(const GzipFileSource&) = delete;
  ~GzipFileSource() { gzclose(file_); }

  std::size_t Read(char* buffer, std::size_t size) {
    const int count =
        gzread(file_, buffer, static_cast<unsigned>(std::min<std::size_t>(size, 1u << 30)));
    int code = Z_OK;
    const char* why = gzerror(file_, &code);
    if (count < 0 || code == Z_BUF_ERROR) {
      throw Error("{}: the gzip stream is broken or cut off ({}); copy the file again",
                  Printable(path_), code == Z_BUF_ERROR ? "unexpected end" : why);
    }
    return static_cast<std::size_t>(count);
  }

 private:
  std::string path_;
  gzFile file_;
};

Input::Input(std::string name, std::unique_ptr<Source> source)
    : name_(std::move(name)), source_(std::move(source)) {
  head_.resize(kHeadBytes);
  std::size_t size = 0;
  while (size < kHeadBytes) {
    const std::size_t count = source_->Read(head_.data() + size, kHeadBytes - size);
    if (count == 0) break;
    size += count;
  }
  head_.resize(size);
  if (head_.starts_with("\xef\xbb\xbf")) head_.erase(0, 3);
  if (head_.starts_with("\xff\xfe") || head_.starts_with("\xfe\xff")) {
    throw Error(
        "{}: the text is UTF-16 (PowerShell's '>' writes it); convert it with "
        "'iconv -f UTF-16 -t UTF-8'",
        name_);
  }
}

Input::Input(Input&&) noexcept = default;
Input::~Input() = default;

Input Input::OpenFile(const std::string& path) {
  struct FromFile : Source {
    explicit FromFile(const std::string& path) : file(path) {}
    std::size_t Read(char* buffer, std::size_t size) override { return file.Read(buffer, size); }
    GzipFileSource file;
  };
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    throw Error("{}: is a folder; name one of the files in it", Printable(path));
  }
  Input input(Printable(path), std::make_unique<FromFile>(path));
  input.path_ = path;
  return input;
}

Input Input::FromMemory(std::string name, std::string_view bytes) {
  struct FromBytes : Source {
    explicit FromBytes(std::string_view bytes) : rest(bytes) {}
    std::size_t Read(char* buffer, std::size_t size) override {
      const std::size_t count = std::min(size, rest.size());
      std::copy_n(rest.data(), count, buffer);
      rest.remove_prefix(count);
      return count;
    }
    std::string_view rest;
  };
  Input input(std::move(name), std::make_unique<FromBytes>(bytes));
  input.memory_ = bytes;
  return input;
}

std::size_t Input::Read(char* buffer, std::size_t size) {
  std::size_t count = 0;
  if (head_taken_ < head_.size()) {
    count = std::min(size, head_.size() - head_taken_);
    std::copy_n(head_.data() + head_taken_, count, buffer);
    head_taken_ += count;
  } else {
    count = source_->Read(buffer, size);
  }
  taken_ += count;
  if (taken_ > kMaxBytes) throw Error("{}: more than 64 GiB of text; cut the profile down", name_);
  if (progress_ && taken_ - reported_ >= kProgressBytes) {
    reported_ = taken_;
    progress_(taken_);
  }
  return count;
}

}  // namespace dlcost
