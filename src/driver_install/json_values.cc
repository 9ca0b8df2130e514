#include "src/driver_install/json_values.h"

namespace kgpu::driver_install {

namespace json = boost::json;

json::string Json(std::string_view text) {
  return json::string(text.data(), text.size());
}

json::array Json(const std::vector<std::string>& texts) {
  json::array list;
  for (const std::string& text : texts) {
    list.push_back(Json(text));
  }
  return list;
}

json::object Json(const std::map<std::string, std::string>& texts) {
  json::object object;
  for (const auto& [key, text] : texts) {
    object[{key.data(), key.size()}] = Json(text);
  }
  return object;
}

}  // namespace kgpu::driver_install
