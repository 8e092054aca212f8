import { useContext, useRef } from 'preact/hooks'
import { Field, type FieldProps } from './field.js'
import { FormContext } from './form.js'

type Props = Pick<FieldProps, 'label' | 'hint' | 'inputMode' | 'maxLength' | 'focused' | 'onInput'>

/** For a code that was mailed or that an app shows: browsers and phones offer to fill it in. */
export const CodeField = (props: Props) => <Field {...props} name="code" autoComplete="one-time-code" code />

/** Sends the form as soon as the field has six digits, typed or filled in. The same digits are not sent twice. */
export const SendingCodeField = (props: Omit<Props, 'inputMode' | 'onInput'>) => {
  const { send } = useContext(FormContext)
  const sentDigits = useRef('')
  const sendIfComplete = (value: string) => {
    const digits = value.replaceAll(/\s/g, '')
    if (!/^\d{6}$/.test(digits) || digits === sentDigits.current) return
    sentDigits.current = digits
    send()
  }
  return <CodeField {...props} inputMode="numeric" onInput={sendIfComplete} />
}
