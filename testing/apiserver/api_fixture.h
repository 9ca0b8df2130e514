// An Api with simulated time, and requests to it that are easy to read in tests.
#pragma once

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/platform/net/http/message.h"
#include "testing/apiserver/api.h"
#include "testing/apiserver/json_fields.h"
#include "testing/fake_loop.h"

namespace kgpu::apiserver {

// What a client has received of a response.
struct Seen {
  int code = 0;  // 0: nothing yet
  http::Headers headers{};
  std::string body{};
  bool is_ended = false;
  bool is_cut = false;
  bool is_open = true;  // the client still reads

  boost::json::object Json() const {
    boost::json::error_code error;
    const boost::json::value value = boost::json::parse(body, error);
    return value.is_object() ? value.get_object() : boost::json::object();
  }
  // The events of a watch, complete lines only.
  std::vector<boost::json::object> Events() const {
    std::vector<boost::json::object> events;
    size_t start = 0;
    for (size_t end = body.find('\n'); end != std::string::npos; end = body.find('\n', start)) {
      events.push_back(boost::json::parse(body.substr(start, end - start)).as_object());
      start = end + 1;
    }
    return events;
  }
  // "ADDED n1", "DELETED n2", …
  std::vector<std::string> EventNames() const {
    std::vector<std::string> names;
    for (const boost::json::object& event : Events()) {
      names.push_back(std::string(TextAt(event, {"type"})));
      const std::string_view name = TextAt(event, {"object", "metadata", "name"});
      if (!name.empty()) {
        names.back().append(" ").append(name);
      }
    }
    return names;
  }
};

class SeenSink final : public Sink {
 public:
  explicit SeenSink(std::shared_ptr<Seen> seen) : seen_(std::move(seen)) {}
  void Answer(const http::Response& response) override {
    Begin(response.code, response.headers);
    seen_->body = response.body;
    seen_->is_ended = true;
  }
  void Begin(int code, const http::Headers& headers) override {
    seen_->code = code;
    seen_->headers = headers;
  }
  bool Write(std::string_view bytes) override {
    if (is_open()) {
      seen_->body.append(bytes);
    }
    return is_open();
  }
  void End() override { seen_->is_ended = true; }
  void Cut() override { seen_->is_cut = true; }
  bool is_open() const override { return seen_->is_open && !seen_->is_cut && !seen_->is_ended; }

 private:
  std::shared_ptr<Seen> seen_;
};

class ApiTest : public ::testing::Test {
 protected:
  using Fields = std::initializer_list<std::pair<std::string, std::string>>;

  explicit ApiTest(ApiOptions options = {}) : api_(loop_, options) {}

  std::shared_ptr<Seen> Send(std::string_view method, std::string_view target,
                             std::string_view body = "", Fields headers = {}) {
    http::Request request;
    request.method = method;
    request.target = target;
    request.body = body;
    request.headers.Add("User-Agent", "tester/1.0");
    for (const auto& [name, value] : headers) {
      request.headers.Add(name, value);
    }
    auto seen = std::make_shared<Seen>();
    api_.Handle(request, std::make_shared<SeenSink>(seen));
    return seen;
  }
  std::shared_ptr<Seen> Get(std::string_view target, Fields headers = {}) {
    return Send("GET", target, "", headers);
  }
  std::shared_ptr<Seen> Post(std::string_view target, std::string_view body) {
    return Send("POST", target, body, {{"Content-Type", "application/json"}});
  }
  std::shared_ptr<Seen> Put(std::string_view target, const boost::json::object& body) {
    return Send("PUT", target, boost::json::serialize(body),
                {{"Content-Type", "application/json"}});
  }
  std::shared_ptr<Seen> Patch(std::string_view target, std::string_view type,
                              std::string_view body) {
    return Send("PATCH", target, body,
                {{"Content-Type", std::string("application/").append(type)}});
  }
  std::shared_ptr<Seen> MergePatch(std::string_view target, std::string_view body) {
    return Patch(target, "merge-patch+json", body);
  }
  std::shared_ptr<Seen> Apply(std::string_view target, std::string_view manager,
                              std::string_view body, std::string_view more = "") {
    return Patch(fmt::format("{}?fieldManager={}{}", target, manager, more), "apply-patch+yaml",
                 body);
  }
  std::shared_ptr<Seen> AddNode(std::string_view name, std::string_view labels = "{}") {
    return Post("/api/v1/nodes", fmt::format(R"({{"apiVersion":"v1","kind":"Node",
        "metadata":{{"name":"{}","labels":{}}}}})",
                                             name, labels));
  }
  std::string Version() { return std::to_string(api_.store().revision()); }
  boost::json::object Node(std::string_view name) {
    const StoredPtr node = api_.Find(fmt::format("/api/v1/nodes/{}", name));
    return node == nullptr ? boost::json::object() : node->object();
  }

  FakeLoop loop_;
  Api api_;
};

}  // namespace kgpu::apiserver
