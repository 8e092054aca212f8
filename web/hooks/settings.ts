import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { Settings } from '../browser/settings.js'
import type { Words } from '../words/catalogue.js'

export const SettingsContext = createContext<Settings | undefined>(undefined)

export const useSettings = () => {
  const settings = useContext(SettingsContext)
  if (!settings) throw new Error('A component was used outside of its page')
  return settings
}

/** One part of the catalogue, in the language of the page. */
export const useWords = <Part extends keyof Words>(part: Part): Words[Part] => {
  const words = useSettings().words[part]
  if (!words) throw new Error(`words/catalogue.ts does not list "${part}" for this page`)
  return words
}
