#include "src/platform/doc/json_values.h"

#include <boost/json/value.hpp>

namespace kgpu::doc {

Status ReadText(const boost::json::value& value, std::string& out) {
  const boost::json::string* text = value.if_string();
  if (text == nullptr) {
    return InvalidArgument("must be a string");
  }
  out.assign(text->data(), text->size());
  return OkStatus();
}

Status ReadFlag(const boost::json::value& value, bool& out) {
  const bool* flag = value.if_bool();
  if (flag == nullptr) {
    return InvalidArgument("must be true or false");
  }
  out = *flag;
  return OkStatus();
}

std::vector<std::string> TextsOf(const boost::json::value* list) {
  std::vector<std::string> texts;
  if (list == nullptr || !list->is_array()) {
    return texts;
  }
  for (const boost::json::value& item : list->get_array()) {
    if (const boost::json::string* text = item.if_string()) {
      texts.emplace_back(text->data(), text->size());
    }
  }
  return texts;
}

}  // namespace kgpu::doc
