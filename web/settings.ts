import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { ProviderId } from '../src/contract/providers.js'
import type { PageName, Words, WordsOf } from './words/catalogue.js'
import { regional } from './words/format.js'

export type Provider = { id: ProviderId; name: string; path: string }

/** What the server hands over with the page. Nothing in it is about the visitor. */
type Installation = {
  language: string
  /** The language as it is written where the visitor lives. */
  locale: string
  productName: string
  providers: Provider[]
  registration: 'open' | 'closed'
  /** A path of this site. */
  afterSignIn: string
  development: boolean
}
export type Settings<Page extends PageName> = Installation & { words: WordsOf<Page> & Pick<Words, 'common'> }

export const readSettings = <Page extends PageName>() => {
  const element = document.getElementById('settings')
  if (!element?.textContent) throw new Error('The page came without its settings')
  const settings = JSON.parse(element.textContent) as Omit<Settings<Page>, 'locale'>
  return { ...settings, locale: regional(settings.language, navigator.languages) } as Settings<Page>
}

export const SettingsContext = createContext<(Installation & { words: { common: Words['common'] } }) | undefined>(
  undefined,
)

/** What every component may rely on, whichever page it stands on. */
export const useSettings = () => {
  const settings = useContext(SettingsContext)
  if (!settings) throw new Error('A component was used outside of its page')
  return settings
}

export const useCommonWords = () => useSettings().words.common
