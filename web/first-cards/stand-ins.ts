import type { Settings } from '../browser/settings.js'

// In the place of web/browser/client, mount and settings, where there is no service to ask and no document.

/** Its functions are passed on while a card is drawn, and not called. */
export const client = {}

export const mount = () => undefined

let current: Settings | undefined

/** The settings of the card that is being drawn. */
export const drawWith = <Result>(settings: Settings, draw: () => Result): Result => {
  current = settings
  try {
    return draw()
  } finally {
    current = undefined
  }
}

export const readSettings = (): Settings => {
  if (!current) throw new Error('No card is being drawn')
  return current
}
