// The objects a reflector knows, and what changes when others take their place.
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
    ObjectPtr gone;     // as it was last; null: it is not gone
    ObjectPtr changed;  // as it is now; null: it is gone
  };

  // What happened: nothing when the version is the same; both when another object has taken its
  // name.
  std::vector<Change> Put(boost::json::value object);
  std::vector<Change> Remove(const boost::json::value& object);
  // All of them by others; those that stay the same are kept.
  std::vector<Change> Replace(std::vector<boost::json::value> objects);

  const std::map<std::string, ObjectPtr>& objects() const { return objects_; }
  // About what the objects take in memory.
  size_t bytes() const { return bytes_; }

 private:
  void Forget(const ObjectPtr& object);

  std::map<std::string, ObjectPtr> objects_;
  size_t bytes_ = 0;
};

// "namespace/name", or "name" of an object without a namespace.
std::string KeyOf(const boost::json::value& object);
// About what a value takes in memory.
size_t MemoryOf(const boost::json::value& value);

}  // namespace kgpu::kube
