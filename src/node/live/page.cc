#include "src/node/live/page.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "src/platform/compress/gzip.h"

namespace kgpu::live {
namespace {

constexpr std::string_view kFolder = "/page/";
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kTypes = {{
    {".html", "text/html; charset=utf-8"},
    {".css", "text/css; charset=utf-8"},
    {".js", "text/javascript; charset=utf-8"},
}};
// Nothing from elsewhere, and no page of others around this one. Source: CSP level 3. Widths of
// bars are styles of elements.
constexpr char kPolicy[] =
    "default-src 'self'; img-src data:; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'";

std::string_view FileOf(std::string_view path) {
  if (path == "/") {
    return "index.html";
  }
  return path.starts_with(kFolder) ? path.substr(kFolder.size()) : std::string_view();
}

}  // namespace

std::optional<http::Response> AnswerPage(const http::Request& request) {
  const auto files = PageFiles();
  const std::string_view name = FileOf(request.path);
  const auto file = std::ranges::find(files, name, &EmbeddedFile::path);
  if (file == files.end() || (request.method != "GET" && request.method != "HEAD")) {
    return std::nullopt;
  }
  http::Response response;
  const auto type =
      std::ranges::find_if(kTypes, [&](const auto& entry) { return name.ends_with(entry.first); });
  response.headers.Add("Content-Type", type == kTypes.end() ? "text/plain" : type->second);
  response.headers.Add("Cache-Control", "no-cache");
  response.headers.Add("Content-Security-Policy", kPolicy);
  response.headers.Add("X-Content-Type-Options", "nosniff");
  response.headers.Add("Vary", "Accept-Encoding");
  const auto coding = request.headers.Find("Accept-Encoding");
  if (coding && coding->find("gzip") != std::string_view::npos) {
    response.headers.Add("Content-Encoding", "gzip");
    compress::GzipWriter writer;
    writer.Add(file->text);
    compress::GzipFront front = writer.Finish();
    response.body = std::move(front.bytes);
    response.body += compress::CompressRest(front, "");
  } else {
    response.body = file->text;
  }
  return response;
}

}  // namespace kgpu::live
