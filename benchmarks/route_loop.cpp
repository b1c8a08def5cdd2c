// The plain loop that the routing kernel is measured against: rows in blocks outside, trees inside, one row at a time.
// Complete trees in heap order; codes row by row, so that all features of a record share a cache line.
#include <cstdint>

extern "C" std::int64_t route(const std::uint8_t *codes, std::int64_t n_rows, std::int64_t n_features,
                              const std::uint32_t *feature, const std::uint8_t *cut, std::int64_t n_trees,
                              std::int64_t depth, std::int32_t *leaves, std::int64_t block_rows) {
    const std::int64_t n_nodes = (std::int64_t(1) << depth) - 1;
    std::int64_t sum = 0;  // of all leaf numbers, so that nothing can be left out
    for (std::int64_t start = 0; start < n_rows; start += block_rows) {
        const std::int64_t stop = start + block_rows < n_rows ? start + block_rows : n_rows;
        for (std::int64_t tree = 0; tree < n_trees; ++tree) {
            const std::uint32_t *tree_feature = feature + tree * n_nodes;
            const std::uint8_t *tree_cut = cut + tree * n_nodes;
            std::int32_t *out = leaves + tree * block_rows;
            for (std::int64_t row = start; row < stop; ++row) {
                const std::uint8_t *record = codes + row * n_features;
                std::uint64_t node = 0;
                for (std::int64_t level = 0; level < depth; ++level)
                    node = 2 * node + 1 + (record[tree_feature[node]] > tree_cut[node]);
                out[row - start] = static_cast<std::int32_t>(node - n_nodes);
            }
        }
        for (std::int64_t tree = 0; tree < n_trees; ++tree)
            sum += leaves[tree * block_rows];
    }
    return sum;
}
