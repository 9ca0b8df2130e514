// What differs between two states of an object, for people.
#pragma once

#include <boost/json/fwd.hpp>

#include <string>
#include <vector>

namespace kgpu::kube {

struct FieldChange {
  std::string path{};    // "spec.template.spec.containers[agent].image"
  std::string before{};  // JSON on one line, cut when long; empty: absent
  std::string after{};
  bool operator==(const FieldChange&) const = default;
};

// Without status and without what the server keeps itself (versions, times, managed fields). Items
// of lists are matched by their name if they have one. Values of a Secret are hidden.
std::vector<FieldChange> DiffObjects(const boost::json::value& before,
                                     const boost::json::value& after);
// "path: before -> after", "path: + after", "path: - before".
std::string TextOf(const FieldChange& change);

}  // namespace kgpu::kube
