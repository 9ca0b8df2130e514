// What a container reports about its devices.
#pragma once

#include <map>
#include <set>
#include <string>

namespace kgpu::engines {

struct Report {
  std::set<std::string> nodes;  // character devices that are NVIDIA's or a companion's: "nvidia0"
  // The result of opening GPU 0 to 3 through a node that the image contains: the cgroup's decision,
  // whatever is in /dev. "granted", or the error.
  std::map<unsigned, std::string> opens;
  std::map<std::string, std::string> libraries;  // file by SONAME; "" where the loader has none
  std::map<std::string, std::string> env;
  bool is_complete = false;
  std::string text;  // all of it, for messages
};

inline constexpr const char* kGranted = "granted";
inline constexpr const char* kRefused = "Operation not permitted";

// The output of report.sh, which is /report in every image of Image.
Report ParseReport(const std::string& text);
std::ostream& operator<<(std::ostream& out, const Report& report);

}  // namespace kgpu::engines
