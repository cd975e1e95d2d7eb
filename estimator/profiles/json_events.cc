#include "estimator/profiles/json_events.h"

#include <array>
#include <iterator>
#include <nlohmann/json.hpp>

#include "estimator/core/error.h"
#include "estimator/profiles/number.h"

namespace dlcost {
namespace {

constexpr std::size_t kMaxText = 64 << 10;  // of one value; Triton kernels carry their source file
constexpr std::size_t kMaxArgs = 256;

// A single-pass iterator over the input's bytes, as the JSON parser wants them.
class ByteIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  struct Stream {
    explicit Stream(Input& source) : input(source) { Fill(); }
    void Fill() {
      size = input.Read(buffer.data(), buffer.size());
      position = 0;
    }
    Input& input;
    std::array<char, 1 << 16> buffer;
    std::size_t size = 0, position = 0;
  };

  ByteIterator() = default;
  explicit ByteIterator(Stream& stream) : stream_(&stream) {}
  const char& operator*() const { return stream_->buffer[stream_->position]; }
  ByteIterator& operator++() {
    if (++stream_->position == stream_->size) stream_->Fill();
    return *this;
  }
  ByteIterator operator++(int) { return ++*this; }
  friend bool operator==(const ByteIterator& a, const ByteIterator& b) {
    return a.AtEnd() == b.AtEnd();
  }
  friend bool operator!=(const ByteIterator& a, const ByteIterator& b) { return !(a == b); }

 private:
  bool AtEnd() const { return stream_ == nullptr || stream_->size == 0; }
  Stream* stream_ = nullptr;
};

class EventHandler : public nlohmann::json_sax<nlohmann::json> {
 public:
  EventHandler(const std::string& name, const std::function<void(const JsonEvent&)>& handle)
      : name_(name), handle_(handle) {}

  std::int64_t events() const { return event_.number; }
  bool found_list() const { return found_list_; }
  const std::string& error() const { return error_; }

  bool null() override { return Value("null"); }
  bool boolean(bool value) override { return Value(value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override { return Value(std::to_string(value)); }
  bool number_unsigned(number_unsigned_t value) override { return Value(std::to_string(value)); }
  bool number_float(number_float_t, const string_t& text) override { return Value(text); }
  bool string(string_t& text) override { return Value(text); }
  bool binary(binary_t&) override { return true; }

  bool key(string_t& key) override {
    if (depth_ == list_depth_ + 1 || (list_depth_ == 0 && depth_ == 1))
      key_ = std::move(key);
    else if (depth_ == list_depth_ + 2 && in_args_)
      arg_ = std::move(key);
    return true;
  }

  bool start_object(std::size_t) override {
    if (list_depth_ > 0 && depth_ == list_depth_) {
      const std::int64_t number = event_.number;
      event_ = JsonEvent();
      event_.number = number + 1;
      in_event_ = true;
    } else if (in_event_ && depth_ == list_depth_ + 1) {
      in_args_ = key_ == "args";
    }
    ++depth_;
    return true;
  }

  bool end_object() override {
    --depth_;
    if (list_depth_ > 0 && depth_ == list_depth_ + 1) in_args_ = false;
    if (in_event_ && depth_ == list_depth_) {
      in_event_ = false;
      handle_(event_);
    }
    return true;
  }

  bool start_array(std::size_t) override {
    if (list_depth_ == 0 && !found_list_ &&
        (depth_ == 0 || (depth_ == 1 && key_ == "traceEvents"))) {
      list_depth_ = ++depth_;
      found_list_ = true;
      return true;
    }
    if (in_args_ && depth_ >= list_depth_ + 2) {
      if (depth_ == list_depth_ + 2) text_.clear();
      Append("[");
    }
    ++depth_;
    return true;
  }

  bool end_array() override {
    if (depth_ == list_depth_) list_depth_ = 0;
    --depth_;
    if (in_args_ && depth_ >= list_depth_ + 2) {
      Append("]");
      if (depth_ == list_depth_ + 2) Argument(text_);
    }
    return true;
  }

  bool parse_error(std::size_t, const std::string&,
                   const nlohmann::detail::exception& error) override {
    error_ = error.what();
    return false;
  }

 private:
  bool Value(const std::string& text) {
    if (!in_event_) return true;
    if (depth_ == list_depth_ + 1)
      Field(text);
    else if (in_args_ && depth_ == list_depth_ + 2)
      Argument(text);
    else if (in_args_)
      Append(text);
    return true;
  }

  void Field(const std::string& text) {
    std::string* const field = key_ == "name"  ? &event_.name
                               : key_ == "ph"  ? &event_.ph
                               : key_ == "cat" ? &event_.cat
                               : key_ == "pid" ? &event_.pid
                               : key_ == "tid" ? &event_.tid
                               : key_ == "id"  ? &event_.id
                                               : nullptr;
    if (field) {
      *field = text.substr(0, kMaxText);
    } else if (key_ == "ts" || key_ == "dur") {
      const auto time = ParseMicroseconds(text);  // a few writers quote their numbers
      if (!time || (key_ == "dur" && *time < 0)) {
        throw Error("{}: event {}: \"{}\" is {}, no {} in microseconds", name_, event_.number, key_,
                    Printable(text, 40), key_ == "ts" ? "time" : "duration");
      }
      (key_ == "ts" ? event_.start : event_.duration) = time;
    }
  }

  void Argument(const std::string& text) {
    if (event_.args.size() < kMaxArgs) event_.args.emplace_back(arg_, text.substr(0, kMaxText));
  }

  void Append(const std::string& token) {
    if (text_.size() > kMaxText) return;
    if (!text_.empty() && text_.back() != '[' && token != "]") text_ += ',';
    text_ += token;
  }

  const std::string& name_;  // of the file
  const std::function<void(const JsonEvent&)>& handle_;
  JsonEvent event_;
  std::string key_, arg_, text_, error_;
  std::int64_t depth_ = 0, list_depth_ = 0;  // the list's content is at list_depth_
  bool in_event_ = false, in_args_ = false, found_list_ = false;
};

}  // namespace

const std::string& JsonEvent::Arg(std::string_view key) const {
  static const std::string kEmpty;
  for (const auto& [argument, value] : args) {
    if (argument == key) return value;
  }
  return kEmpty;
}

void ForEachEvent(Input& input, const std::function<void(const JsonEvent&)>& handle) {
  EventHandler handler(input.name(), handle);
  const auto stream = std::make_unique<ByteIterator::Stream>(input);
  const bool whole = nlohmann::json::sax_parse(ByteIterator(*stream), ByteIterator(), &handler);
  if (!whole) {
    throw Error("{}: the JSON breaks off or is damaged after event {}: {}", input.name(),
                handler.events(), Printable(handler.error(), 200));
  }
  if (!handler.found_list()) {
    throw Error("{}: the JSON holds no list of events (an array, or an object with 'traceEvents')",
                input.name());
  }
}

}  // namespace dlcost
