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

}  // namespace kgpu::doc
