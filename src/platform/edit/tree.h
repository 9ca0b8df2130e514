// Keys in a tree of objects.
#pragma once

#include <boost/json/value.hpp>

#include "src/platform/edit/change.h"

namespace kgpu::edit {

// Null if there is no such key.
const boost::json::value* FindIn(const boost::json::value& tree, const Key& key);
boost::json::value* FindIn(boost::json::value& tree, const Key& key);

// Creates the objects on the way. Does nothing if something on the way is no object.
void SetIn(boost::json::value& tree, const Key& key, const boost::json::value& value);
void EraseIn(boost::json::value& tree, const Key& key);

// Whether both trees are equal, except that empty objects on the way to `key` may be missing in one
// of them: TOML tables come and go with their content.
bool SaySame(const boost::json::value& a, const boost::json::value& b, const Key& key);

}  // namespace kgpu::edit
