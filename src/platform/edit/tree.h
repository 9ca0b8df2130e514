// Keys in a tree of objects.
#pragma once

#include <boost/json/value.hpp>

#include "src/platform/edit/change.h"

namespace kgpu::edit {

// Null when there is no such key.
const boost::json::value* FindIn(const boost::json::value& tree, const Key& key);
boost::json::value* FindIn(boost::json::value& tree, const Key& key);

// Objects on the way are made. Does nothing where something else than an object is on the way.
void SetIn(boost::json::value& tree, const Key& key, const boost::json::value& value);
void EraseIn(boost::json::value& tree, const Key& key);

// Whether both say the same, except that objects on the way to `key` which are empty in one need
// not be in the other: tables of TOML come and go with what is in them.
bool SaySame(const boost::json::value& a, const boost::json::value& b, const Key& key);

}  // namespace kgpu::edit
