// Merges and compares objects by their schema and splits them field by field, for server-side
// apply. Pure functions.
#pragma once

#include <boost/json/fwd.hpp>

#include <string>

#include "src/platform/base/status.h"
#include "testing/apiserver/field_set.h"
#include "testing/apiserver/schema.h"

namespace kgpu::apiserver {

// The path element for an item of a non-atomic list. An item without its key is identified by its
// index.
std::string ItemElement(const boost::json::value& item, size_t place, const Schema& list);

// The fields that `value` sets.
FieldSet FieldsOf(const boost::json::value& value, const Schema* schema);

// Checks that each item of a merged list has its key, and no two have the same. Errors: a Failure
// of code 400.
Status CheckItems(const boost::json::value& value, const Schema* schema);

// Merges `applied`, which must have passed CheckItems, into `live`.
void MergeTyped(boost::json::value& live, const boost::json::value& applied, const Schema* schema);

struct Differences {
  FieldSet added;
  FieldSet modified;
  FieldSet removed;
};
Differences Compare(const boost::json::value& before, const boost::json::value& after,
                    const Schema* schema);

// Removes the fields of `last` from `value` that are not in `owned`, and maps and lists that become
// empty.
void Prune(boost::json::value& value, const FieldSet& last, const FieldSet& owned,
           const Schema* schema);

}  // namespace kgpu::apiserver
