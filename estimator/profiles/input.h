#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace dlcost {

// Bytes of a profiler's file, read in pieces so that a trace of a gigabyte needs no gigabyte.
// Files compressed with gzip are unpacked on the way; a UTF-8 byte order mark is dropped. Errors (a
// file that cannot be read, a gzip stream that ends early, UTF-16 text) name the file.
class Input {
 public:
  static Input OpenFile(const std::string& path);
  // For tests and fuzzing: `name` stands for the path in messages. `bytes` must outlive the input.
  static Input FromMemory(std::string name, std::string_view bytes);
  Input(Input&&) noexcept;
  ~Input();

  const std::string& name() const { return name_; }
  // The first bytes (64 KiB, or the whole file when it is shorter), without taking them.
  std::string_view Head() const { return head_; }
  // Copies up to `size` bytes to `buffer` and takes them; 0 at the end.
  std::size_t Read(char* buffer, std::size_t size);

  // The path when the input is a file; SQLite opens it itself. Empty for memory.
  const std::string& path() const { return path_; }
  // All bytes of an input in memory.
  std::string_view memory() const { return memory_; }

  // Called about every 64 MiB with the number of (unpacked) bytes read so far.
  void OnProgress(std::function<void(std::uint64_t)> callback) { progress_ = std::move(callback); }

 private:
  class Source;
  Input(std::string name, std::unique_ptr<Source> source);

  std::string name_, path_;
  std::string_view memory_;
  std::unique_ptr<Source> source_;
  std::string head_;
  std::size_t head_taken_ = 0;
  std::uint64_t taken_ = 0, reported_ = 0;
  std::function<void(std::uint64_t)> progress_;
};

}  // namespace dlcost
