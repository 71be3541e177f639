"""Gates: conditions on a log's figures that hold or fail, each value against its threshold."""
