// Theme and language, kept in the browser if it allows that.

import { type Language, speak } from './words';

export type Theme = 'auto' | 'light' | 'dark';

// Storage throws in some browsers for files and in private windows.
const read = (key: string): string | null => {
  try {
    return localStorage.getItem(`saihai.${key}`);
  } catch {
    return null;
  }
};

const write = (key: string, value: string): void => {
  try {
    localStorage.setItem(`saihai.${key}`, value);
  } catch {
    // The choice lasts until the page is closed.
  }
};

export const readTheme = (): Theme => {
  const theme = read('theme');
  return theme === 'light' || theme === 'dark' ? theme : 'auto';
};

export const applyTheme = (theme: Theme): void => {
  if (theme === 'auto') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = theme;
  write('theme', theme);
};

export const readLanguage = (): Language => {
  const language = read('language') ?? navigator.language;
  return language.startsWith('ja') ? 'ja' : 'en';
};

export const applyLanguage = (language: Language): void => {
  speak(language);
  document.documentElement.lang = language;
  write('language', language);
};
