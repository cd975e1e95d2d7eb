#include "arrow_stream.h"

#include <string>
#include <utility>
#include <vector>

namespace dlcost::python {
namespace {

constexpr std::int64_t kNullable = 2;  // ARROW_FLAG_NULLABLE

struct SchemaParts {
  std::string name;
  std::vector<ArrowSchema> children;
  std::vector<ArrowSchema*> pointers;
};

struct ArrayParts {
  std::shared_ptr<const Column> rows;  // that the buffers belong to
  std::vector<const void*> buffers;
  std::vector<ArrowArray> children;
  std::vector<ArrowArray*> pointers;
};

struct StreamParts {
  std::shared_ptr<const Column> rows;
  bool taken = false;
};

// Releases a structure and those children that nobody moved away.
template <typename Parts, typename Structure>
void Release(Structure* structure) {
  auto* parts = static_cast<Parts*>(structure->private_data);
  for (Structure& child : parts->children) {
    if (child.release != nullptr) child.release(&child);
  }
  structure->release = nullptr;
  delete parts;
}

template <typename Parts, typename Structure>
void LinkChildren(Parts& parts, Structure& out) {
  for (Structure& child : parts.children) parts.pointers.push_back(&child);
  out.n_children = static_cast<std::int64_t>(parts.children.size());
  out.children = parts.pointers.data();
}

void Describe(const Column& column, const std::string& name, ArrowSchema* out) {
  auto* parts = new SchemaParts{.name = name};
  parts->children.resize(column.children().size());
  for (std::size_t i = 0; i < parts->children.size(); ++i) {
    const Column::Child& child = column.children()[i];
    Describe(*child.column, child.name, &parts->children[i]);
  }
  *out = {.format = column.Format(),
          .name = parts->name.c_str(),
          .flags = kNullable,
          .release = &Release<SchemaParts, ArrowSchema>,
          .private_data = parts};
  LinkChildren(*parts, *out);
}

void Export(const Column& column, const std::shared_ptr<const Column>& rows, ArrowArray* out) {
  auto* parts = new ArrayParts{.rows = rows, .buffers = column.Buffers()};
  parts->children.resize(column.children().size());
  for (std::size_t i = 0; i < parts->children.size(); ++i) {
    Export(*column.children()[i].column, rows, &parts->children[i]);
  }
  *out = {.length = column.length(),
          .null_count = column.nulls(),
          .n_buffers = static_cast<std::int64_t>(parts->buffers.size()),
          .buffers = parts->buffers.data(),
          .release = &Release<ArrayParts, ArrowArray>,
          .private_data = parts};
  LinkChildren(*parts, *out);
}

StreamParts& PartsOf(ArrowArrayStream* stream) {
  return *static_cast<StreamParts*>(stream->private_data);
}

}  // namespace

ArrowArrayStream* NewStream(std::shared_ptr<const Column> rows) {
  return new ArrowArrayStream{
      .get_schema =
          [](ArrowArrayStream* stream, ArrowSchema* out) {
            Describe(*PartsOf(stream).rows, "", out);
            return 0;
          },
      .get_next =
          [](ArrowArrayStream* stream, ArrowArray* out) {
            StreamParts& parts = PartsOf(stream);
            if (std::exchange(parts.taken, true)) {
              *out = {};  // no release: the end
            } else {
              Export(*parts.rows, parts.rows, out);
            }
            return 0;
          },
      .get_last_error = [](ArrowArrayStream*) -> const char* { return nullptr; },
      .release =
          [](ArrowArrayStream* stream) {
            delete static_cast<StreamParts*>(stream->private_data);
            stream->release = nullptr;
          },
      .private_data = new StreamParts{.rows = std::move(rows)}};
}

void DeleteStream(ArrowArrayStream* stream) {
  if (stream->release != nullptr) stream->release(stream);
  delete stream;
}

}  // namespace dlcost::python
