// Converts our texts to JSON's, for views and printers.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/string_view.hpp>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace kgpu::doc {

// Boost.JSON's string view; std::string_view does not convert to it implicitly.
inline boost::json::string_view View(std::string_view text) {
  return {text.data(), text.size()};
}

// Converts a vector, a set or another range of texts.
template <typename Range = std::vector<std::string>>
boost::json::array Texts(const Range& texts) {
  boost::json::array list;
  list.reserve(texts.size());
  for (const std::string& text : texts) {
    list.emplace_back(View(text));
  }
  return list;
}

inline boost::json::object TextMap(const std::map<std::string, std::string>& texts) {
  boost::json::object object;
  for (const auto& [key, text] : texts) {
    object[View(key)] = View(text);
  }
  return object;
}

}  // namespace kgpu::doc
