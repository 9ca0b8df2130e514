// How a verdict on an image is shown.
#pragma once

#include <boost/json/fwd.hpp>

#include <string>

#include "src/diagnose/image/facts.h"
#include "src/diagnose/image/verdict.h"

namespace kgpu::image {

std::string VerdictText(const ImageFacts& image, const ImageVerdict& verdict);
boost::json::value VerdictJson(const ImageFacts& image, const HostFacts& host,
                               const ImageVerdict& verdict);

// The table of docs/doctor-image.md: CUDA versions against driver branches.
std::string PairsMarkdown();

}  // namespace kgpu::image
