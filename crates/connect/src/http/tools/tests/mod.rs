mod files;
mod history;
mod web;
