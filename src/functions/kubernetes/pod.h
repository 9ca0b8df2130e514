// A pod of a function, as its object says. Pure functions.
#pragma once

#include <boost/json/fwd.hpp>

#include <cstdint>
#include <string>

namespace kgpu::functions {

struct PodFacts {
  std::string name{};
  std::string function{};  // the label's value
  std::string template_hash{};
  std::string ip{};  // empty: it has none yet
  int64_t gpus = 0;  // that it requests, of any resource of NVIDIA's
  bool has_node = false;
  bool is_unschedulable = false;  // the scheduler has said so
  bool is_ready = false;          // by its condition
  bool is_ending = false;         // it takes no more calls
  bool is_over = false;           // all of it has ended; its object may stay for long
  // Why it is not ready, and does not become so by waiting alone, for people; may be empty.
  std::string problem{};
  bool operator==(const PodFacts&) const = default;
};

// `pod` as TrimPod leaves it.
PodFacts PodFactsOf(const boost::json::value& pod);

// Removes what PodFactsOf does not read.
void TrimPod(boost::json::value& pod);

}  // namespace kgpu::functions
