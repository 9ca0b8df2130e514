// Fields of JSON trees by path. Reading never creates anything; a field that is absent or of
// another type reads as nothing.
#pragma once

#include <boost/json.hpp>

#include <initializer_list>
#include <string>
#include <string_view>

namespace kgpu::apiserver {

using Path = std::initializer_list<std::string_view>;

const boost::json::value* FieldAt(const boost::json::object& object, Path path);
// The text at `path`; "" if there is none.
std::string_view TextAt(const boost::json::object& object, Path path);
// An integer at `path`, or `otherwise`.
int64_t NumberAt(const boost::json::object& object, Path path, int64_t otherwise);
bool FlagAt(const boost::json::object& object, Path path);
// The object or list at `path`; null if there is none.
const boost::json::object* ObjectAt(const boost::json::object& object, Path path);
const boost::json::array* ListAt(const boost::json::object& object, Path path);
// The items at `path`; none if there is no list.
const boost::json::array& ItemsAt(const boost::json::object& object, Path path);

// The object in the field `name`, created if it is absent or no object.
boost::json::object& MakeObject(boost::json::object& object, std::string_view name);
// What a field selector or a printed column compares: a text as it is, numbers and flags in JSON,
// "" for an absent field.
std::string PlainText(const boost::json::value* value);
// At the dotted path "spec.nodeName".
const boost::json::value* FieldAtDots(const boost::json::object& object, std::string_view path);

}  // namespace kgpu::apiserver
