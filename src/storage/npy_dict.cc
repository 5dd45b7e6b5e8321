#include "npy_dict.h"

#include "ramet/error.h"
#include "shape.h"
#include "text.h"

namespace ramet {

namespace {

class DictParser {
 public:
  DictParser(std::string_view text, const std::string& location)
      : text_(text), location_(location) {}

  NpyDict parse() {
    expect('{');
    bool more = true;
    while (more && !at('}')) {
      parse_item();
      more = take(',');
    }
    expect('}');
    skip_space();
    if (position_ != text_.size()) fail("there is more after the dictionary");
    if (!has_descr_) fail("the key 'descr' is missing");
    if (!has_order_) fail("the key 'fortran_order' is missing");
    if (!has_shape_) fail("the key 'shape' is missing");
    return std::move(dict_);
  }

 private:
  void parse_item() {
    const std::string key = parse_string();
    expect(':');
    if (key == "descr") {
      once(has_descr_, key);
      dict_.descr = parse_string();
    } else if (key == "fortran_order") {
      once(has_order_, key);
      dict_.fortran_order = parse_bool();
    } else if (key == "shape") {
      once(has_shape_, key);
      dict_.shape = parse_tuple();
    } else {
      fail("unknown key ", quoted(key));
    }
  }

  void once(bool& seen, const std::string& key) {
    if (seen) fail("the key ", quoted(key), " stands there twice");
    seen = true;
  }

  // A string without escapes.
  std::string parse_string() {
    skip_space();
    const char quote = peek();
    if (quote != '\'' && quote != '"') fail("a string is expected");
    const size_t end = text_.find(quote, position_ + 1);
    if (end == text_.npos) fail("a string does not end");
    const std::string_view value = text_.substr(position_ + 1, end - position_ - 1);
    if (value.find('\\') != value.npos) fail("a string has an escape");
    position_ = end + 1;
    return std::string(value);
  }

  bool parse_bool() {
    skip_space();
    for (const bool value : {false, true}) {
      const std::string_view word = value ? "True" : "False";
      if (text_.substr(position_, word.size()) != word) continue;
      position_ += word.size();
      return value;
    }
    fail("True or False is expected");
  }

  // (), (3,), (3, 4) or (3, 4,); (3) is a number in Python, so it is refused here.
  std::vector<int64_t> parse_tuple() {
    std::vector<int64_t> values;
    expect('(');
    bool comma = true;
    while (!at(')')) {
      if (!comma) fail("a comma is expected");
      if (values.size() == kMaxDimensions)
        fail("the shape has more than ", kMaxDimensions, " dimensions");
      values.push_back(parse_number());
      comma = take(',');
    }
    if (values.size() == 1 && !comma) fail("the shape is no tuple");
    expect(')');
    return values;
  }

  int64_t parse_number() {
    skip_space();
    size_t end = position_;
    while (end < text_.size() && text_[end] >= '0' && text_[end] <= '9')
      ++end;
    const auto value = parse_count(text_.substr(position_, end - position_));
    if (!value) fail("the shape needs a number from 0 to 2^62");
    position_ = end;
    return *value;
  }

  void skip_space() {
    while (position_ < text_.size() && (text_[position_] == ' ' || text_[position_] == '\n'))
      ++position_;
  }
  [[nodiscard]] char peek() const { return position_ < text_.size() ? text_[position_] : '\0'; }
  bool at(char c) {
    skip_space();
    return peek() == c;
  }
  bool take(char c) {
    if (!at(c)) return false;
    ++position_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail("'", c, "' is expected");
  }
  template <typename... Parts>
  [[noreturn]] void fail(const Parts&... why) const {
    throw_corrupt(location_, ".npy header, byte ", position_, " of the dictionary: ", why...);
  }

  std::string_view text_;
  const std::string& location_;
  size_t position_ = 0;
  NpyDict dict_;
  bool has_descr_ = false, has_order_ = false, has_shape_ = false;
};

}  // namespace

NpyDict parse_npy_dict(std::string_view text, const std::string& location) {
  return DictParser(text, location).parse();
}

}  // namespace ramet
