import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { Refusal } from '../requests.js'

/** How the parts of the dashboard speak to the whole: what was done, what was refused, what must be read anew. */
export type Desk = {
  tell: (text: string) => void
  refuse: (refusal: Refusal, text?: string) => void
  reload: () => Promise<void>
}

export const DeskContext = createContext<Desk | undefined>(undefined)

export const useDesk = () => {
  const desk = useContext(DeskContext)
  if (!desk) throw new Error('A part of the dashboard was used outside of it')
  return desk
}
