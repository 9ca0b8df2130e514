#include "src/cli/top/live_document.h"

#include "src/cli/top/field_reader.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/doc/json_reader.h"

namespace kgpu::top {
namespace {

namespace json = boost::json;

void ReadProcess(const FieldReader& reader, Process& process) {
  reader.Need("pid");
  reader.Count("pid", process.pid);
  reader.Text("name", process.name);
  reader.Count("memory", process.memory);
  reader.Number("sm", process.sm);
}

void ReadUser(const FieldReader& reader, User& user) {
  reader.Need("pod");
  reader.Text("namespace", user.space);
  reader.Text("pod", user.pod);
  reader.Text("container", user.container);
  reader.Text("claim", user.claim);
  reader.Count("slots", user.slots);
  reader.Object("memory", [&](const FieldReader& memory) {
    memory.Count("used", user.used);
    memory.Count("limit", user.limit);
    memory.Count("peak", user.peak);
  });
  reader.Number("sm", user.sm);
  reader.List("processes", user.processes, ReadProcess);
}

void ReadMig(const FieldReader& reader, MigDevice& mig) {
  reader.Need("uuid");
  reader.Text("uuid", mig.uuid);
  reader.Count("index", mig.index);
  reader.Text("profile", mig.profile);
  reader.Count("gpuInstance", mig.gpu_instance);
  reader.Object("memory", [&](const FieldReader& memory) {
    memory.Count("total", mig.memory_total);
    memory.Count("used", mig.memory_used);
  });
  reader.Flag("healthy", mig.is_healthy);
  reader.Text("reason", mig.reason);
  reader.Text("message", mig.message);
  reader.Text("pool", mig.pool);
  reader.List("users", mig.users, ReadUser);
}

void ReadFigures(const FieldReader& reader, LiveGpu& gpu) {
  reader.Object("utilization", [&](const FieldReader& part) {
    part.Number("gpu", gpu.utilization);
    part.Number("memory", gpu.memory_utilization);
    part.Number("encoder", gpu.encoder);
    part.Number("decoder", gpu.decoder);
  });
  reader.Object("memory", [&](const FieldReader& part) {
    part.Count("total", gpu.memory_total);
    part.Count("used", gpu.memory_used);
  });
  reader.Object("temperature", [&](const FieldReader& part) {
    part.Number("gpu", gpu.temperature);
    part.Number("memory", gpu.memory_temperature);
    part.Number("slowdown", gpu.slowdown_temperature);
  });
  reader.Object("power", [&](const FieldReader& part) {
    part.Number("watts", gpu.watts);
    part.Number("limit", gpu.watts_limit);
  });
  reader.Object("clocks", [&](const FieldReader& part) {
    part.Count("sm", gpu.sm_clock);
    part.Count("memory", gpu.memory_clock);
    part.Count("maxSm", gpu.max_sm_clock);
  });
  reader.Texts("throttled", gpu.throttled);
  reader.Object("history", [&](const FieldReader& part) {
    part.Count("stepSeconds", gpu.history.step_seconds);
    part.Numbers("utilization", gpu.history.utilization);
    part.Numbers("memory", gpu.history.memory);
  });
}

void ReadGpu(const FieldReader& reader, LiveGpu& gpu) {
  reader.Need("uuid");
  reader.Count("index", gpu.index);
  reader.Text("uuid", gpu.uuid);
  reader.Text("model", gpu.model);
  reader.Text("pci", gpu.pci);
  reader.Whole("numaNode", gpu.numa_node);
  reader.Flag("healthy", gpu.is_healthy);
  reader.Text("reason", gpu.reason);
  reader.Text("message", gpu.message);
  reader.Texts("warnings", gpu.warnings);
  ReadFigures(reader, gpu);
  reader.Text("pool", gpu.pool);
  reader.Text("lentTo", gpu.lent_to);
  reader.List("nvlinks", gpu.nvlinks, [](const FieldReader& part, NvLink& link) {
    part.Count("peer", link.peer);
    part.Count("links", link.links);
  });
  reader.List("mig", gpu.mig, ReadMig);
  reader.List("users", gpu.users, ReadUser);
  reader.List("processes", gpu.processes, ReadProcess);
}

void ReadPool(const FieldReader& reader, PoolUse& pool) {
  reader.Text("name", pool.name);
  reader.Count("total", pool.total);
  reader.Count("used", pool.used);
  reader.Count("unhealthy", pool.unhealthy);
}

}  // namespace

StatusOr<json::value> ParseLiveDocument(std::string_view text) {
  return doc::ParseJson(text, "the agent's answer", {.bytes = kMaxLiveDocument});
}

StatusOr<LiveDocument> LiveDocumentOf(const json::value& document) {
  if (!document.is_object()) {
    return InvalidArgument("the agent's answer: must be an object: is it kgpu's agent?");
  }
  Status status;
  LiveDocument live;
  const FieldReader reader(document.get_object(), "", status);
  reader.Need("gpus");
  reader.Text("node", live.node);
  reader.Text("time", live.time);
  reader.Text("agent", live.agent);
  reader.Text("measured", live.measured);
  reader.Number("everySeconds", live.every_seconds);
  reader.Flag("ready", live.is_ready);
  reader.Text("problem", live.problem);
  reader.Object("driver", [&](const FieldReader& driver) {
    driver.Text("state", live.driver_state);
    driver.Text("version", live.driver_version);
    driver.Text("cudaVersion", live.cuda_version);
    driver.Text("reason", live.driver_reason);
  });
  reader.List("gpus", live.gpus, ReadGpu);
  reader.List("pools", live.pools, ReadPool);
  RETURN_IF_ERROR(status);
  return live;
}

StatusOr<LiveDocument> ReadLiveDocument(std::string_view text) {
  ASSIGN_OR_RETURN(const json::value value, ParseLiveDocument(text));
  return LiveDocumentOf(value);
}

}  // namespace kgpu::top
