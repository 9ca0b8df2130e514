#include "src/cluster/page/cluster_page.h"

#include <boost/json.hpp>

#include <utility>

#include "src/cluster/gpus/groups.h"
#include "src/node/live/page.h"
#include "src/platform/base/strings.h"
#include "src/platform/base/time_text.h"
#include "src/platform/doc/json_texts.h"

namespace kgpu::cluster_page {
namespace {

namespace json = boost::json;
using gpus::Group;
using gpus::GroupBy;

json::object CountsOf(const Group& group) {
  return {{"name", group.name},
          {"total", group.counts.total},
          {"used", group.counts.used},
          {"free", group.counts.free},
          {"unhealthy", group.counts.unhealthy},
          {"cordoned", group.counts.cordoned}};
}

json::array Groups(const gpus::Summary& summary, GroupBy by) {
  json::array groups;
  for (const Group& group : gpus::GroupsOf(summary, by)) {
    groups.push_back(CountsOf(group));
  }
  return groups;
}

json::array Nodes(const gpus::Summary& summary) {
  json::array nodes;
  for (const Group& group : gpus::GroupsOf(summary, GroupBy::kNode)) {
    json::object node = CountsOf(group);
    node["model"] = Join(group.models, ", ");
    node["ready"] = group.problem.empty();
    node["problem"] = group.problem;
    nodes.push_back(std::move(node));
  }
  return nodes;
}

json::array Namespaces(const gpus::Summary& summary) {
  json::array spaces;
  for (const Group& group : gpus::GroupsOf(summary, GroupBy::kNamespace)) {
    spaces.push_back({{"name", group.name},
                      {"used", group.counts.used},
                      {"pending", group.pending},
                      {"pods", group.holders.size()}});
  }
  return spaces;
}

}  // namespace

json::object ClusterJson(const ClusterState& state) {
  return {{"kind", "Cluster"},
          {"agent", state.version},
          {"time", FormatTime(state.now)},
          {"measured", state.measured ? json::value(FormatTime(*state.measured)) : nullptr},
          {"problem", state.problem},
          {"nodes", Nodes(state.summary)},
          {"models", Groups(state.summary, GroupBy::kModel)},
          {"pools", Groups(state.summary, GroupBy::kPool)},
          {"namespaces", Namespaces(state.summary)},
          {"notRead", doc::Texts(state.summary.unreadable)}};
}

ClusterPage::ClusterPage(EventLoop& loop, kube::Client& client, std::string version)
    : loop_(loop),
      client_(client),
      version_(std::move(version)),
      feed_(loop, {.text = [this] { return Text(); },
                   .watched =
                       [this](bool is_watched) {
                         timer_.Cancel();
                         if (is_watched) {
                           Read();
                         }
                       }}) {
}

bool ClusterPage::Answer(const http::Request& request, const http::Responder& responder) {
  if (auto page = live::AnswerPage(request)) {
    responder.Send(*std::move(page));
    return true;
  }
  if (request.path != "/live" && request.path != "/live/events") {
    return false;
  }
  if (request.path == "/live/events" && request.method == "GET") {
    feed_.Listen(responder);
  } else if (request.method == "GET" || request.method == "HEAD") {
    responder.Send(feed_.Now());
  } else {
    responder.Send(http::WrongMethod(request, "GET, HEAD"));
  }
  return true;
}

void ClusterPage::Read() {
  if (reader_) {
    return;
  }
  reader_ = std::make_unique<gpus::ClusterReader>(client_, [this](StatusOr<gpus::Summary> read) {
    reader_.reset();
    problem_ = read.ok() ? "" : std::string(Message(read.status()));
    if (read.ok()) {
      summary_ = *std::move(read);
      measured_ = loop_.clock().WallNow();
    }
    feed_.Changed();
    if (feed_.is_watched()) {
      timer_.Arm(kEvery, [this] { Read(); });
    }
  });
}

std::string ClusterPage::Text() const {
  return json::serialize(ClusterJson({.summary = summary_,
                                      .version = version_,
                                      .problem = problem_,
                                      .measured = measured_,
                                      .now = loop_.clock().WallNow()}));
}

}  // namespace kgpu::cluster_page
