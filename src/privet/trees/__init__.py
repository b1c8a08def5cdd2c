"""What learners of trees share: splits, candidates, scores, growth, and the shapes that trees have."""
