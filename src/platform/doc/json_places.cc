#include "src/platform/doc/json_places.h"

#include <utility>

#include "src/platform/doc/json_cursor.h"

namespace kgpu::doc {
namespace {

class PlaceScanner {
 public:
  explicit PlaceScanner(std::string_view text) : text_(text), cursor_(text) {}

  Place Value() {
    cursor_.SkipBlanks();
    Place place;
    place.value = At(cursor_.at());
    cursor_.Walk([&](std::string_view key) {
      Position position;
      if (!key.empty()) {
        position = At(static_cast<size_t>(key.data() - text_.data()));
      }
      Place child = Value();
      child.key = position;
      place.children.push_back(std::move(child));
    });
    return place;
  }

 private:
  // For offsets in the order of the text.
  Position At(size_t offset) {
    for (; counted_ < offset; ++counted_) {
      if (text_[counted_] == '\n') {
        ++line_;
        line_start_ = counted_ + 1;
      }
    }
    return {.line = line_, .column = offset - line_start_ + 1};
  }

  std::string_view text_;
  JsonCursor cursor_;
  size_t counted_ = 0;
  size_t line_ = 1;
  size_t line_start_ = 0;
};

}  // namespace

Place PlacesOfJson(std::string_view text) {
  return PlaceScanner(text).Value();
}

}  // namespace kgpu::doc
