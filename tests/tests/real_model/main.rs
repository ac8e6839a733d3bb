//! Saihai on a real model, small and on this machine. Nothing here depends on what it says, only on how it is heard: text
//! while it is spoken, tokens, sessions, and a server that stops when nobody listens any more (C-81).

mod asking;
mod model;
mod running;
