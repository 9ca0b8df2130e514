// The objects that a reflector knows, and what changes when they are replaced.
#pragma once

#include <boost/json/fwd.hpp>

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace kgpu::kube {

class ObjectCache {
 public:
  using ObjectPtr = std::shared_ptr<const boost::json::value>;

  struct Change {
    ObjectPtr gone;     // its last state; null: it is not gone
    ObjectPtr changed;  // its current state; null: it is gone
  };

  // Returns the changes: none if the version is the same; both if another object has taken the
  // name.
  std::vector<Change> Put(boost::json::value object);
  std::vector<Change> Remove(const boost::json::value& object);
  // Replaces all objects; keeps those that are the same.
  std::vector<Change> Replace(std::vector<boost::json::value> objects);

  const std::map<std::string, ObjectPtr>& objects() const { return objects_; }
  // The approximate memory use of the objects.
  size_t bytes() const { return bytes_; }

 private:
  void Forget(const ObjectPtr& object);

  std::map<std::string, ObjectPtr> objects_;
  size_t bytes_ = 0;
};

// "namespace/name", or "name" for an object without a namespace.
std::string KeyOf(const boost::json::value& object);
// The approximate memory use of a value.
size_t MemoryOf(const boost::json::value& value);

}  // namespace kgpu::kube
