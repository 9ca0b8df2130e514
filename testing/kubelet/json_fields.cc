#include "testing/kubelet/json_fields.h"

#include <limits>

namespace kgpu::kubelet {

const boost::json::value* JsonFields::Find(std::string_view name) const {
  const boost::json::object* object = value_.if_object();
  return object == nullptr ? nullptr : object->if_contains({name.data(), name.size()});
}

StatusOr<JsonFields> JsonFields::Field(std::string_view name) const {
  const boost::json::value* field = Find(name);
  if (field == nullptr) {
    return InvalidArgument("{}: missing field {}", where_, name);
  }
  return JsonFields(*field, PathOf(name));
}

Status JsonFields::Get(std::string& out) const {
  const boost::json::string* text = value_.if_string();
  if (text == nullptr) {
    return InvalidArgument("{}: must be a string", where_);
  }
  out.assign(text->data(), text->size());
  return OkStatus();
}

Status JsonFields::Get(bool& out) const {
  const bool* flag = value_.if_bool();
  if (flag == nullptr) {
    return InvalidArgument("{}: must be true or false", where_);
  }
  out = *flag;
  return OkStatus();
}

Status JsonFields::Get(int64_t& out) const {
  const int64_t* number = value_.if_int64();
  if (number == nullptr) {
    return InvalidArgument("{}: must be an integer", where_);
  }
  out = *number;
  return OkStatus();
}

Status JsonFields::Get(double& out) const {
  boost::json::error_code error;
  const auto number = value_.to_number<double>(error);
  if (error) {
    return InvalidArgument("{}: must be a number", where_);
  }
  out = number;
  return OkStatus();
}

Status JsonFields::Get(int& out) const {
  int64_t number = 0;
  RETURN_IF_ERROR(Get(number));
  if (number < std::numeric_limits<int>::min() || number > std::numeric_limits<int>::max()) {
    return InvalidArgument("{}: {} is out of range", where_, number);
  }
  out = static_cast<int>(number);
  return OkStatus();
}

}  // namespace kgpu::kubelet
