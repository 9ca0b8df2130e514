// Prints a verdict on an image.
#pragma once

#include <boost/json/fwd.hpp>

#include <string>

#include "src/diagnose/image/facts.h"
#include "src/diagnose/image/verdict.h"

namespace kgpu::image {

std::string VerdictText(const ImageVerdict& verdict, bool has_color = false);
// Field names are part of the interface: docs/reference/doctor-image.md.
boost::json::value VerdictJson(const ImageFacts& image, const HostFacts& host,
                               const ImageVerdict& verdict);

// CUDA versions against driver branches: for people, programs, and docs/reference/doctor-image.md.
std::string PairsTable();
boost::json::value PairsJson();
std::string PairsMarkdown();

}  // namespace kgpu::image
