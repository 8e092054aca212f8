import { useEffect, useState } from 'preact/hooks'
import { useSettings } from './settings.js'

/** A message in the language of the page. It disappears when the visitor chooses another language, because it is not translated again. */
export const useMessage = <Message>(first?: Message) => {
  const { language } = useSettings()
  const [state, setState] = useState<{ message: Message | undefined; language: string }>({ message: first, language })
  useEffect(() => {
    setState((known) => (known.language === language ? known : { message: undefined, language }))
  }, [language])
  return {
    message: state.language === language ? state.message : undefined,
    setMessage: (message: Message | undefined) => setState({ message, language }),
    /** Removes this message, but not a newer one, which may not be drawn yet. */
    clearMessage: (message: Message) =>
      setState((known) => (known.message === message ? { message: undefined, language } : known)),
  }
}
