// The page that shows the document of view.h, or that of a cluster: its files, which are in the
// program.
#pragma once

#include <optional>
#include <span>

#include "src/platform/base/embedded_file.h"
#include "src/platform/net/http/message.h"

namespace kgpu::live {

// src/node/live/page, sorted by path.
std::span<const EmbeddedFile> PageFiles();

// GET or HEAD of "/" and of the files below "/page/"; nothing: the request is for something else.
// They contain nothing about the node, so that anybody may load them; the page asks for a token
// where one is needed.
std::optional<http::Response> AnswerPage(const http::Request& request);

}  // namespace kgpu::live
