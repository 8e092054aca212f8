import type { Settings } from '../browser/settings.js'

// Stand-ins for web/browser/client, mount and settings on the server, where there is no document and no service to ask.

/** Components only pass its functions on while a card is drawn, and call none of them. */
export const client = {}

/** Only effects ask, and a drawn card has none. */
export const askService = () => {
  throw new Error('A card asks nothing while it is drawn')
}

export const mount = () => undefined
export const unmount = () => undefined
export const replacePage = () => undefined

let currentSettings: Settings | undefined

/** Makes `readSettings` return these settings while the card is drawn. */
export const drawWith = <Result>(settings: Settings, draw: () => Result): Result => {
  currentSettings = settings
  try {
    return draw()
  } finally {
    currentSettings = undefined
  }
}

export const readSettings = (): Settings => {
  if (!currentSettings) throw new Error('No card is being drawn')
  return currentSettings
}
