// Objects seen through a schema: merged, compared and taken apart field by field, as server-side
// apply does. Pure functions.
#pragma once

#include <boost/json/fwd.hpp>

#include <string>

#include "src/platform/base/status.h"
#include "testing/apiserver/field_set.h"
#include "testing/apiserver/schema.h"

namespace kgpu::apiserver {

// The path element of an item of a list that is no atomic one. An item without its key is known by
// its place.
std::string ItemElement(const boost::json::value& item, size_t place, const Schema& list);

// The fields that `value` sets.
FieldSet FieldsOf(const boost::json::value& value, const Schema* schema);

// Whether each item of lists that are merged has its key, and no two have the same. Errors: a
// Failure of code 400.
Status CheckItems(const boost::json::value& value, const Schema* schema);

// `applied`, which CheckItems has found healthy, laid over `live`.
void MergeTyped(boost::json::value& live, const boost::json::value& applied, const Schema* schema);

struct Differences {
  FieldSet added;
  FieldSet modified;
  FieldSet removed;
};
Differences Compare(const boost::json::value& before, const boost::json::value& after,
                    const Schema* schema);

// Takes the fields of `last` from `value` that are not in `owned`, and maps and lists that are
// empty for it.
void Prune(boost::json::value& value, const FieldSet& last, const FieldSet& owned,
           const Schema* schema);

}  // namespace kgpu::apiserver
