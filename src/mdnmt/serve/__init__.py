"""The page for trying models: `mdnmt serve`."""
