import { useEffect, useState } from 'preact/hooks'
import { useSettings } from './settings.js'

/** A finished sentence about something that happened. It goes when the visitor chooses another language: nothing is in two of them. */
export const useSaid = <Said>(first?: Said) => {
  const { language } = useSettings()
  const [kept, setKept] = useState<{ said: Said | undefined; language: string }>({ said: first, language })
  useEffect(() => {
    setKept((known) => (known.language === language ? known : { said: undefined, language }))
  }, [language])
  return {
    said: kept.language === language ? kept.said : undefined,
    say: (said: Said | undefined) => setKept({ said, language }),
    /** Unless something newer was said, which may not be drawn yet. */
    unsay: (said: Said) => setKept((known) => (known.said === said ? { said: undefined, language } : known)),
  }
}
