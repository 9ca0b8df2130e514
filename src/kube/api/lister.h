// Lists all objects of a collection, in chunks.
#pragma once

#include <boost/json/value.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/kube/api/client.h"
#include "src/platform/base/status.h"

namespace kgpu::kube {

struct Selection {
  std::string path{};            // of the collection: Resource::Collection
  std::string label_selector{};  // "a=b,c in (d,e)"
  std::string field_selector{};  // "spec.nodeName=n1"
};

struct ListOptions {
  Selection selection{};
  // At least this version; empty: the newest. Errors: OutOfRange (already forgotten), Unavailable,
  // reason ResourceVersionTooLarge (the server does not have it yet).
  std::string resource_version{};
  size_t chunk = 500;
  size_t max_objects = 50'000;
  size_t max_bytes = size_t{256} << 20;  // approximate, in memory
  // Whether an object is wanted, where no selector can say it; empty: all are. Others do not count.
  std::function<bool(const boost::json::value&)> keeps{};
  // Removes unneeded parts of an object, before its size is counted.
  std::function<void(boost::json::value&)> trim{};
  bool is_repeated = true;  // ApiRequest::is_repeated
};

struct ListResult {
  std::vector<boost::json::value> items{};  // without apiVersion and kind: servers leave them out
  std::string resource_version{};           // where a watch starts
};

using ListDone = std::function<void(StatusOr<ListResult>)>;

// Requests chunk after chunk; if the server forgets the list meanwhile, once more without chunks.
// `done` is called once, never from here, with the errors of Client::Send, OutOfRange without an
// ApiError if there are more than `max_objects` or `max_bytes`, and Unavailable if empty chunks do
// not end. Destroying the call cancels it.
std::unique_ptr<Call> ListObjects(Client& client, ListOptions options, ListDone done);

}  // namespace kgpu::kube
