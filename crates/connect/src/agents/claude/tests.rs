//! What is started, and what comes of what is printed.
