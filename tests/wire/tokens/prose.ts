/**
 * Running prose as people write it and models reply with it: plain words in plain sentences and, in languages whose ratio is the
 * highest, phrases of news and of companies, where a tokenizer merges the most. The counter is fitted to the first paragraph of each language (`weights.ts`) and tested with the others.
 *
 * @module
 */

/** Paragraphs by the name of their language: the first is fitted, the others are held out. */
export const PROSE: Readonly<Record<string, readonly [string, ...string[]]>> = {
  English: [
    "Learning a new language takes time, but it does not have to be hard. Start with the words that you use every day and try to speak a little each morning. If you do not understand something, ask again and do not worry about small mistakes. After a few weeks you will notice that you can read simple stories and follow most of what people say to you.",
    "Last summer we spent two weeks in a small village by the sea. The house was old, but there was a large garden, and in the evening we sat outside and talked until it was dark. My grandmother told us how she had come there as a young girl, when the road was still made of stone and nobody had a car. I think it was the best holiday we have ever had.",
    "If your computer does not start, first check whether the power cable is connected. Then press the button and wait for about ten seconds. Most problems can be solved in a few minutes, and you do not need any special tools. Please save your work before you install the update, because the system has to be restarted afterwards.",
  ],
  German: [
    "Eine neue Sprache zu lernen braucht Zeit, aber es muss nicht schwer sein. Beginnen Sie mit den Wörtern, die Sie jeden Tag benutzen, und versuchen Sie, jeden Morgen ein wenig zu sprechen. Wenn Sie etwas nicht verstehen, fragen Sie noch einmal und machen Sie sich keine Sorgen über kleine Fehler. Nach ein paar Wochen werden Sie merken, dass Sie einfache Geschichten lesen können. Die Bundesrepublik Deutschland ist ein Staat in Mitteleuropa. Das Unternehmen wurde im Jahr 1990 gegründet und hat seinen Sitz in Berlin. Wir freuen uns auf Ihre Anfrage und stehen Ihnen bei Fragen jederzeit gerne zur Verfügung. Weitere Informationen finden Sie auf unserer Seite.",
    "Im letzten Sommer haben wir zwei Wochen in einem kleinen Dorf am Meer verbracht. Das Haus war alt, aber es gab einen großen Garten, und am Abend saßen wir draußen und haben geredet, bis es dunkel wurde. Meine Großmutter hat uns erzählt, wie sie als junges Mädchen dorthin gekommen ist, als noch niemand ein Auto hatte. Ich glaube, das war der schönste Urlaub, den wir je hatten.",
    "Wenn Ihr Computer nicht startet, prüfen Sie zuerst, ob das Kabel richtig angeschlossen ist. Dann drücken Sie die Taste und warten etwa zehn Sekunden. Die meisten Probleme lassen sich in wenigen Minuten lösen, und Sie brauchen dafür kein besonderes Werkzeug. Bitte speichern Sie Ihre Arbeit, bevor Sie die Aktualisierung installieren, weil das System danach neu gestartet werden muss.",
    "Die Bundesregierung hat am Mittwoch neue Maßnahmen beschlossen. Nach Angaben der Polizei wurde bei dem Unfall niemand verletzt. In den vergangenen Jahren ist die Zahl der Teilnehmer deutlich gestiegen.",
  ],
  French: [
    "Apprendre une nouvelle langue prend du temps, mais ce n'est pas forcément difficile. Commencez par les mots que vous utilisez tous les jours et essayez de parler un peu chaque matin. Si vous ne comprenez pas quelque chose, demandez encore une fois et ne vous inquiétez pas pour les petites fautes. Après quelques semaines, vous pourrez lire des histoires simples.",
    "L'été dernier, nous avons passé deux semaines dans un petit village au bord de la mer. La maison était vieille, mais il y avait un grand jardin, et le soir nous restions dehors à parler jusqu'à la nuit. Ma grand-mère nous a raconté comment elle était arrivée là quand elle était jeune, à une époque où personne n'avait de voiture. Je crois que c'étaient les plus belles vacances de ma vie.",
    "Si votre ordinateur ne démarre pas, vérifiez d'abord que le câble est bien branché. Appuyez ensuite sur le bouton et attendez une dizaine de secondes. La plupart des problèmes peuvent être résolus en quelques minutes et vous n'avez besoin d'aucun outil particulier. N'oubliez pas d'enregistrer votre travail avant d'installer la mise à jour, car le système doit être redémarré.",
  ],
  Spanish: [
    "Aprender un nuevo idioma lleva tiempo, pero no tiene que ser difícil. Empieza con las palabras que usas todos los días e intenta hablar un poco cada mañana. Si no entiendes algo, pregunta otra vez y no te preocupes por los pequeños errores. Después de unas semanas verás que puedes leer historias sencillas y entender casi todo lo que te dicen. España es un país ubicado en el suroeste de Europa. Nuestra empresa ofrece servicios de alta calidad. Para obtener más información, póngase en contacto con nosotros. Además, es importante tener en cuenta los siguientes aspectos.",
    "El verano pasado estuvimos dos semanas en un pequeño pueblo junto al mar. La casa era vieja, pero había un jardín muy grande, y por la noche nos quedábamos fuera hablando hasta muy tarde. Mi abuela nos contó cómo había llegado allí cuando era joven, en un tiempo en el que nadie tenía coche. Creo que fueron las mejores vacaciones de nuestra vida.",
    "Si tu ordenador no se enciende, comprueba primero que el cable está bien conectado. Después pulsa el botón y espera unos diez segundos. La mayoría de los problemas se pueden resolver en pocos minutos y no necesitas ninguna herramienta especial. Guarda tu trabajo antes de instalar la actualización, porque después hay que reiniciar el sistema.",
    "El gobierno anunció nuevas medidas para mejorar la educación y la salud. Según los datos publicados, el número de usuarios ha aumentado en los últimos años.",
  ],
  Portuguese: [
    "Aprender uma nova língua leva tempo, mas não precisa ser difícil. Comece com as palavras que você usa todos os dias e tente falar um pouco cada manhã. Se você não entender alguma coisa, pergunte de novo e não se preocupe com pequenos erros. Depois de algumas semanas, você vai perceber que já consegue ler histórias simples.",
    "No verão passado ficamos duas semanas em uma pequena vila perto do mar. A casa era antiga, mas havia um jardim grande, e à noite ficávamos do lado de fora conversando até escurecer. Minha avó nos contou como chegou lá quando era jovem, numa época em que ninguém tinha carro. Acho que foram as melhores férias que já tivemos.",
    "Se o seu computador não ligar, verifique primeiro se o cabo está conectado. Depois aperte o botão e espere cerca de dez segundos. A maioria dos problemas pode ser resolvida em poucos minutos e você não precisa de nenhuma ferramenta especial. Salve o seu trabalho antes de instalar a atualização, porque depois o sistema precisa ser reiniciado.",
  ],
  Italian: [
    "Imparare una nuova lingua richiede tempo, ma non deve essere difficile. Cominciate con le parole che usate tutti i giorni e provate a parlare un po' ogni mattina. Se non capite qualcosa, chiedete di nuovo e non preoccupatevi dei piccoli errori. Dopo qualche settimana vedrete che potete leggere storie semplici e capire quasi tutto quello che vi dicono.",
    "L'estate scorsa abbiamo passato due settimane in un piccolo paese vicino al mare. La casa era vecchia, ma c'era un grande giardino, e la sera restavamo fuori a parlare fino a tardi. Mia nonna ci ha raccontato come era arrivata lì da giovane, quando nessuno aveva ancora la macchina. Credo che sia stata la vacanza più bella della nostra vita.",
    "Se il computer non si accende, controllate prima che il cavo sia collegato. Poi premete il pulsante e aspettate circa dieci secondi. La maggior parte dei problemi si può risolvere in pochi minuti e non serve nessuno strumento particolare. Salvate il vostro lavoro prima di installare l'aggiornamento, perché dopo il sistema deve essere riavviato.",
  ],
  Dutch: [
    "Een nieuwe taal leren kost tijd, maar het hoeft niet moeilijk te zijn. Begin met de woorden die je elke dag gebruikt en probeer elke ochtend een beetje te praten. Als je iets niet begrijpt, vraag het dan nog een keer en maak je geen zorgen over kleine fouten. Na een paar weken zul je merken dat je eenvoudige verhalen kunt lezen.",
    "Vorige zomer waren we twee weken in een klein dorp aan zee. Het huis was oud, maar er was een grote tuin, en 's avonds zaten we buiten te praten tot het donker werd. Mijn oma vertelde hoe ze daar als jong meisje was gekomen, toen nog niemand een auto had. Ik denk dat het de mooiste vakantie was die we ooit hebben gehad.",
    "Als je computer niet start, controleer dan eerst of de kabel goed is aangesloten. Druk daarna op de knop en wacht ongeveer tien seconden. De meeste problemen kunnen in een paar minuten worden opgelost en je hebt er geen speciaal gereedschap voor nodig. Sla je werk op voordat je de update installeert, want daarna moet het systeem opnieuw worden gestart.",
  ],
  Swedish: [
    "Att lära sig ett nytt språk tar tid, men det behöver inte vara svårt. Börja med de ord som du använder varje dag och försök att prata lite varje morgon. Om du inte förstår något, fråga en gång till och oroa dig inte för små fel. Efter några veckor kommer du att märka att du kan läsa enkla berättelser.",
    "Förra sommaren var vi två veckor i en liten by vid havet. Huset var gammalt, men det fanns en stor trädgård, och på kvällen satt vi ute och pratade tills det blev mörkt. Min mormor berättade hur hon hade kommit dit som ung flicka, när ingen hade bil. Jag tror att det var den bästa semestern vi någonsin har haft.",
    "Om din dator inte startar ska du först kontrollera att kabeln är ansluten. Tryck sedan på knappen och vänta i ungefär tio sekunder. De flesta problem kan lösas på några minuter och du behöver inga särskilda verktyg. Spara ditt arbete innan du installerar uppdateringen, eftersom systemet måste startas om efteråt.",
  ],
  Danish: [
    "Det tager tid at lære et nyt sprog, men det behøver ikke at være svært. Begynd med de ord, du bruger hver dag, og prøv at tale lidt hver morgen. Hvis der er noget, du ikke forstår, så spørg igen, og vær ikke bange for små fejl. Efter nogle uger vil du opdage, at du kan læse enkle historier.",
    "Sidste sommer var vi to uger i en lille by ved havet. Huset var gammelt, men der var en stor have, og om aftenen sad vi ude og talte, til det blev mørkt. Min bedstemor fortalte, hvordan hun var kommet dertil som ung pige, da ingen havde bil. Jeg tror, det var den bedste ferie, vi nogensinde har haft.",
    "Hvis din computer ikke starter, skal du først kontrollere, at kablet er sat i. Tryk derefter på knappen, og vent i cirka ti sekunder. De fleste problemer kan løses på få minutter, og du har ikke brug for særligt værktøj. Gem dit arbejde, før du installerer opdateringen, for systemet skal genstartes bagefter.",
  ],
  Norwegian: [
    "Det tar tid å lære et nytt språk, men det trenger ikke å være vanskelig. Begynn med de ordene du bruker hver dag, og prøv å snakke litt hver morgen. Hvis det er noe du ikke forstår, spør en gang til og ikke vær redd for små feil. Etter noen uker vil du merke at du kan lese enkle historier.",
    "I fjor sommer var vi to uker i en liten landsby ved havet. Huset var gammelt, men det var en stor hage der, og om kvelden satt vi ute og snakket til det ble mørkt. Bestemor fortalte hvordan hun hadde kommet dit som ung jente, da ingen hadde bil. Jeg tror det var den beste ferien vi noen gang har hatt.",
    "Hvis datamaskinen ikke starter, må du først sjekke at kabelen er koblet til. Trykk deretter på knappen og vent i omtrent ti sekunder. De fleste problemer kan løses på noen få minutter, og du trenger ikke noe spesielt verktøy. Lagre arbeidet ditt før du installerer oppdateringen, fordi systemet må startes på nytt etterpå.",
  ],
  Finnish: [
    "Uuden kielen oppiminen vie aikaa, mutta sen ei tarvitse olla vaikeaa. Aloita sanoista, joita käytät joka päivä, ja yritä puhua vähän joka aamu. Jos et ymmärrä jotain, kysy uudelleen äläkä ole huolissasi pienistä virheistä. Muutaman viikon jälkeen huomaat, että osaat lukea yksinkertaisia tarinoita.",
    "Viime kesänä olimme kaksi viikkoa pienessä kylässä meren rannalla. Talo oli vanha, mutta siellä oli suuri puutarha, ja illalla istuimme ulkona ja puhuimme, kunnes tuli pimeä. Isoäiti kertoi meille, miten hän oli tullut sinne nuorena, kun kenelläkään ei ollut autoa. Luulen, että se oli paras loma, joka meillä on koskaan ollut.",
    "Jos tietokone ei käynnisty, tarkista ensin, että johto on kiinni. Paina sitten painiketta ja odota noin kymmenen sekuntia. Useimmat ongelmat voidaan ratkaista muutamassa minuutissa, eikä siihen tarvita mitään erityisiä työkaluja. Tallenna työsi ennen kuin asennat päivityksen, koska järjestelmä on käynnistettävä sen jälkeen uudelleen.",
  ],
  Polish: [
    "Nauka nowego języka wymaga czasu, ale nie musi być trudna. Zacznij od słów, których używasz każdego dnia, i staraj się trochę mówić każdego ranka. Jeśli czegoś nie rozumiesz, zapytaj jeszcze raz i nie przejmuj się małymi błędami. Po kilku tygodniach zauważysz, że możesz czytać proste historie.",
    "W zeszłym roku latem spędziliśmy dwa tygodnie w małej wsi nad morzem. Dom był stary, ale miał duży ogród, a wieczorem siedzieliśmy na zewnątrz i rozmawialiśmy, aż zrobiło się ciemno. Babcia opowiadała nam, jak przyjechała tam jako młoda dziewczyna, kiedy jeszcze nikt nie miał samochodu. Myślę, że to były najlepsze wakacje w naszym życiu.",
    "Jeśli komputer się nie uruchamia, najpierw sprawdź, czy kabel jest podłączony. Następnie naciśnij przycisk i poczekaj około dziesięciu sekund. Większość problemów można rozwiązać w kilka minut i nie potrzeba do tego żadnych specjalnych narzędzi. Zapisz swoją pracę przed zainstalowaniem aktualizacji, ponieważ potem trzeba ponownie uruchomić system.",
  ],
  Czech: [
    "Naučit se nový jazyk chce čas, ale nemusí to být těžké. Začněte slovy, která používáte každý den, a zkuste každé ráno trochu mluvit. Pokud něčemu nerozumíte, zeptejte se znovu a nebojte se malých chyb. Po několika týdnech zjistíte, že už dokážete číst jednoduché příběhy.",
    "Minulé léto jsme strávili dva týdny v malé vesnici u moře. Dům byl starý, ale měl velkou zahradu, a večer jsme seděli venku a povídali si, dokud nebyla tma. Babička nám vyprávěla, jak tam přišla jako mladá dívka, když ještě nikdo neměl auto. Myslím, že to byla nejlepší dovolená, jakou jsme kdy měli.",
    "Pokud se počítač nespustí, nejdříve zkontrolujte, zda je připojen kabel. Potom stiskněte tlačítko a počkejte asi deset sekund. Většinu problémů lze vyřešit během několika minut a nepotřebujete k tomu žádné zvláštní nástroje. Před instalací aktualizace si uložte svou práci, protože potom je nutné systém restartovat.",
  ],
  Hungarian: [
    "Egy új nyelv megtanulása időbe telik, de nem kell nehéznek lennie. Kezdje azokkal a szavakkal, amelyeket minden nap használ, és próbáljon minden reggel egy kicsit beszélni. Ha valamit nem ért, kérdezze meg újra, és ne aggódjon a kis hibák miatt. Néhány hét után észre fogja venni, hogy már egyszerű történeteket is el tud olvasni.",
    "Tavaly nyáron két hetet töltöttünk egy kis faluban a tenger mellett. A ház régi volt, de volt egy nagy kertje, és este kint ültünk és beszélgettünk, amíg sötét nem lett. A nagymamám elmesélte, hogyan került oda fiatal lányként, amikor még senkinek sem volt autója. Azt hiszem, ez volt a legjobb nyaralásunk.",
    "Ha a számítógép nem indul el, először ellenőrizze, hogy a kábel csatlakozik-e. Ezután nyomja meg a gombot, és várjon körülbelül tíz másodpercet. A legtöbb probléma néhány perc alatt megoldható, és nincs szükség különleges eszközre. Mentse el a munkáját a frissítés telepítése előtt, mert utána újra kell indítani a rendszert.",
  ],
  Romanian: [
    "Să înveți o limbă nouă cere timp, dar nu trebuie să fie greu. Începe cu cuvintele pe care le folosești în fiecare zi și încearcă să vorbești puțin în fiecare dimineață. Dacă nu înțelegi ceva, întreabă din nou și nu îți face griji pentru micile greșeli. După câteva săptămâni vei vedea că poți citi povești simple.",
    "Vara trecută am stat două săptămâni într-un sat mic de lângă mare. Casa era veche, dar avea o grădină mare, iar seara stăteam afară și vorbeam până se făcea întuneric. Bunica ne-a povestit cum a ajuns acolo când era tânără, pe vremea când nimeni nu avea mașină. Cred că a fost cea mai frumoasă vacanță pe care am avut-o.",
    "Dacă calculatorul nu pornește, verifică mai întâi dacă este conectat cablul. Apoi apasă butonul și așteaptă aproximativ zece secunde. Cele mai multe probleme pot fi rezolvate în câteva minute și nu ai nevoie de unelte speciale. Salvează munca înainte de a instala actualizarea, pentru că după aceea sistemul trebuie repornit.",
  ],
  Greek: [
    "Η εκμάθηση μιας νέας γλώσσας θέλει χρόνο, αλλά δεν χρειάζεται να είναι δύσκολη. Ξεκινήστε με τις λέξεις που χρησιμοποιείτε κάθε μέρα και προσπαθήστε να μιλάτε λίγο κάθε πρωί. Αν δεν καταλαβαίνετε κάτι, ρωτήστε ξανά και μην ανησυχείτε για τα μικρά λάθη. Μετά από μερικές εβδομάδες θα δείτε ότι μπορείτε να διαβάσετε απλές ιστορίες.",
    "Το περασμένο καλοκαίρι μείναμε δύο εβδομάδες σε ένα μικρό χωριό δίπλα στη θάλασσα. Το σπίτι ήταν παλιό, αλλά είχε μεγάλο κήπο, και το βράδυ καθόμασταν έξω και μιλούσαμε μέχρι να νυχτώσει. Η γιαγιά μου μας είπε πώς είχε έρθει εκεί όταν ήταν νέα, τότε που κανείς δεν είχε αυτοκίνητο. Νομίζω ότι ήταν οι καλύτερες διακοπές της ζωής μας.",
    "Αν ο υπολογιστής σας δεν ξεκινά, ελέγξτε πρώτα αν είναι συνδεδεμένο το καλώδιο. Στη συνέχεια πατήστε το κουμπί και περιμένετε περίπου δέκα δευτερόλεπτα. Τα περισσότερα προβλήματα μπορούν να λυθούν σε λίγα λεπτά και δεν χρειάζεστε ειδικά εργαλεία. Αποθηκεύστε την εργασία σας πριν εγκαταστήσετε την ενημέρωση.",
  ],
  Turkish: [
    "Yeni bir dil öğrenmek zaman alır ama zor olmak zorunda değildir. Her gün kullandığınız kelimelerle başlayın ve her sabah biraz konuşmaya çalışın. Bir şeyi anlamazsanız tekrar sorun ve küçük hatalar için endişelenmeyin. Birkaç hafta sonra basit hikayeleri okuyabildiğinizi ve insanların söylediklerinin çoğunu anladığınızı fark edeceksiniz. Türkiye Cumhuriyeti, Asya ve Avrupa kıtalarında yer alan bir ülkedir. Daha fazla bilgi için lütfen bizimle iletişime geçin. Bu konuda yapılan çalışmalar oldukça önemlidir ve her geçen gün daha fazla insan tarafından kullanılmaktadır.",
    "Geçen yaz deniz kenarında küçük bir köyde iki hafta geçirdik. Ev eskiydi ama büyük bir bahçesi vardı ve akşamları hava kararana kadar dışarıda oturup konuşuyorduk. Büyükannem bize oraya genç bir kızken nasıl geldiğini anlattı; o zaman kimsenin arabası yoktu. Bence bu, bugüne kadar yaptığımız en güzel tatildi.",
    "Bilgisayarınız açılmıyorsa önce kablonun bağlı olup olmadığını kontrol edin. Sonra düğmeye basın ve yaklaşık on saniye bekleyin. Sorunların çoğu birkaç dakika içinde çözülebilir ve bunun için özel bir alet gerekmez. Güncellemeyi yüklemeden önce çalışmanızı kaydedin, çünkü daha sonra sistemin yeniden başlatılması gerekir.",
    "Bu çalışmanın amacı, öğrencilerin eğitim sürecinde karşılaştıkları sorunları belirlemektir. Ayrıca kullanıcıların bilgilerinin güvenli bir şekilde saklanması gerekmektedir. Projenin önümüzdeki yıl tamamlanması bekleniyor.",
  ],
  Russian: [
    "Чтобы выучить новый язык, нужно время, но это не обязательно трудно. Начните со слов, которые вы используете каждый день, и старайтесь немного говорить каждое утро. Если вы что-то не понимаете, спросите ещё раз и не бойтесь маленьких ошибок. Через несколько недель вы заметите, что можете читать простые рассказы. Российская Федерация является одним из крупнейших государств мира. Для получения дополнительной информации, пожалуйста, свяжитесь с нами. Компания предлагает широкий выбор товаров и услуг. Кроме того, необходимо учитывать следующие факторы.",
    "Прошлым летом мы провели две недели в маленькой деревне у моря. Дом был старый, но там был большой сад, и вечером мы сидели на улице и разговаривали, пока не становилось темно. Бабушка рассказала нам, как она приехала туда ещё молодой девушкой, когда ни у кого не было машины. Я думаю, что это был лучший отпуск в нашей жизни.",
    "Если ваш компьютер не включается, сначала проверьте, подключён ли кабель. Затем нажмите кнопку и подождите около десяти секунд. Большинство проблем можно решить за несколько минут, и для этого не нужны специальные инструменты. Сохраните свою работу перед установкой обновления, потому что после этого систему нужно перезагрузить.",
    "В настоящее время существует несколько способов решения этой проблемы. Правительство приняло решение об увеличении расходов на образование и здравоохранение. Результаты исследования были опубликованы в прошлом году.",
  ],
  Ukrainian: [
    "Щоб вивчити нову мову, потрібен час, але це не обов'язково важко. Почніть зі слів, які ви використовуєте кожного дня, і намагайтеся трохи говорити щоранку. Якщо ви чогось не розумієте, запитайте ще раз і не хвилюйтеся через маленькі помилки. Через кілька тижнів ви помітите, що можете читати прості історії.",
    "Минулого літа ми провели два тижні в маленькому селі біля моря. Будинок був старий, але там був великий сад, і ввечері ми сиділи надворі та розмовляли, поки не ставало темно. Бабуся розповіла нам, як вона приїхала туди молодою дівчиною, коли ні в кого ще не було машини. Я думаю, що це була найкраща відпустка в нашому житті.",
    "Якщо ваш комп'ютер не вмикається, спочатку перевірте, чи підключено кабель. Потім натисніть кнопку і зачекайте близько десяти секунд. Більшість проблем можна вирішити за кілька хвилин, і для цього не потрібні спеціальні інструменти. Збережіть свою роботу перед встановленням оновлення, тому що після цього систему потрібно перезавантажити.",
  ],
  Bulgarian: [
    "Научаването на нов език изисква време, но не е нужно да бъде трудно. Започнете с думите, които използвате всеки ден, и се опитайте да говорите по малко всяка сутрин. Ако не разбирате нещо, попитайте отново и не се притеснявайте за малките грешки. След няколко седмици ще видите, че можете да четете прости истории.",
    "Миналото лято прекарахме две седмици в едно малко село край морето. Къщата беше стара, но имаше голяма градина и вечер седяхме навън и говорехме, докато се стъмни. Баба ми ни разказа как е дошла там като младо момиче, когато никой не е имал кола. Мисля, че това беше най-хубавата почивка в живота ни.",
    "Ако компютърът ви не се включва, първо проверете дали кабелът е свързан. След това натиснете бутона и изчакайте около десет секунди. Повечето проблеми могат да бъдат решени за няколко минути и не ви трябват специални инструменти. Запазете работата си, преди да инсталирате актуализацията, защото след това системата трябва да се рестартира.",
  ],
  Croatian: [
    "Za učenje novog jezika treba vremena, ali ne mora biti teško. Počnite s riječima koje koristite svaki dan i pokušajte svako jutro malo govoriti. Ako nešto ne razumijete, pitajte ponovno i ne brinite se zbog malih pogrešaka. Nakon nekoliko tjedana primijetit ćete da možete čitati jednostavne priče.",
    "Prošlog ljeta proveli smo dva tjedna u malom selu uz more. Kuća je bila stara, ali je imala veliki vrt, a navečer smo sjedili vani i razgovarali dok nije pao mrak. Baka nam je pričala kako je tamo došla kao mlada djevojka, kad još nitko nije imao auto. Mislim da je to bio najbolji odmor koji smo ikada imali.",
    "Ako se računalo ne pokreće, prvo provjerite je li kabel spojen. Zatim pritisnite gumb i pričekajte desetak sekundi. Većina problema može se riješiti za nekoliko minuta i za to vam nije potreban poseban alat. Spremite svoj rad prije nego što instalirate ažuriranje, jer se sustav nakon toga mora ponovno pokrenuti.",
  ],
  Indonesian: [
    "Belajar bahasa baru membutuhkan waktu, tetapi tidak harus sulit. Mulailah dengan kata-kata yang Anda gunakan setiap hari dan cobalah berbicara sedikit setiap pagi. Jika Anda tidak mengerti sesuatu, tanyakan lagi dan jangan khawatir tentang kesalahan kecil. Setelah beberapa minggu Anda akan melihat bahwa Anda dapat membaca cerita sederhana.",
    "Musim panas lalu kami tinggal dua minggu di sebuah desa kecil di tepi laut. Rumahnya sudah tua, tetapi ada taman yang besar, dan pada malam hari kami duduk di luar dan berbicara sampai gelap. Nenek saya bercerita bagaimana dia datang ke sana ketika masih muda, saat belum ada orang yang memiliki mobil. Saya pikir itu adalah liburan terbaik yang pernah kami alami.",
    "Jika komputer Anda tidak menyala, periksa dulu apakah kabel sudah terhubung. Kemudian tekan tombol dan tunggu sekitar sepuluh detik. Sebagian besar masalah dapat diselesaikan dalam beberapa menit dan Anda tidak memerlukan alat khusus. Simpan pekerjaan Anda sebelum memasang pembaruan, karena setelah itu sistem harus dimulai ulang.",
  ],
  Vietnamese: [
    "Học một ngôn ngữ mới cần có thời gian, nhưng không nhất thiết phải khó. Hãy bắt đầu với những từ bạn sử dụng hàng ngày và cố gắng nói một chút mỗi buổi sáng. Nếu bạn không hiểu điều gì, hãy hỏi lại và đừng lo lắng về những lỗi nhỏ. Sau vài tuần, bạn sẽ thấy rằng mình có thể đọc những câu chuyện đơn giản. Việt Nam là một quốc gia nằm ở phía đông bán đảo Đông Dương. Chúng tôi cung cấp các sản phẩm và dịch vụ chất lượng cao cho khách hàng. Nếu bạn có bất kỳ câu hỏi nào, vui lòng liên hệ với chúng tôi.",
    "Mùa hè năm ngoái, chúng tôi ở hai tuần trong một ngôi làng nhỏ bên bờ biển. Ngôi nhà đã cũ nhưng có một khu vườn lớn, và buổi tối chúng tôi ngồi bên ngoài nói chuyện cho đến khi trời tối. Bà tôi kể rằng bà đã đến đó khi còn trẻ, lúc chưa ai có xe hơi. Tôi nghĩ đó là kỳ nghỉ tuyệt vời nhất mà chúng tôi từng có.",
    "Nếu máy tính của bạn không khởi động, trước tiên hãy kiểm tra xem dây cáp đã được kết nối chưa. Sau đó nhấn nút và chờ khoảng mười giây. Hầu hết các vấn đề có thể được giải quyết trong vài phút và bạn không cần công cụ đặc biệt nào. Hãy lưu công việc của bạn trước khi cài đặt bản cập nhật, vì sau đó hệ thống phải khởi động lại.",
    "Theo thông tin từ cơ quan chức năng, số lượng khách hàng sử dụng dịch vụ đã tăng nhanh trong những năm gần đây. Đây là một trong những vấn đề quan trọng cần được giải quyết.",
  ],
  Swahili: [
    "Kujifunza lugha mpya kunahitaji muda, lakini si lazima iwe ngumu. Anza na maneno unayotumia kila siku na ujaribu kuzungumza kidogo kila asubuhi. Kama huelewi kitu, uliza tena na usiwe na wasiwasi kuhusu makosa madogo. Baada ya wiki chache utaona kwamba unaweza kusoma hadithi rahisi.",
    "Mwaka jana tulikaa wiki mbili katika kijiji kidogo karibu na bahari. Nyumba ilikuwa ya zamani, lakini kulikuwa na bustani kubwa, na jioni tulikaa nje na kuzungumza mpaka giza likaingia. Bibi yangu alituambia jinsi alivyofika huko akiwa msichana, wakati ambapo hakuna mtu aliyekuwa na gari. Nadhani hiyo ilikuwa likizo nzuri zaidi katika maisha yetu.",
    "Kama kompyuta yako haiwaki, kwanza angalia kama waya umeunganishwa. Kisha bonyeza kitufe na usubiri kwa sekunde kumi hivi. Matatizo mengi yanaweza kutatuliwa kwa dakika chache na huhitaji vifaa maalum. Hifadhi kazi yako kabla ya kusakinisha sasisho, kwa sababu baada ya hapo mfumo lazima uwashwe upya.",
  ],
  Arabic: [
    "تعلم لغة جديدة يحتاج إلى وقت، ولكن ليس من الضروري أن يكون صعبا. ابدأ بالكلمات التي تستخدمها كل يوم وحاول أن تتحدث قليلا كل صباح. إذا لم تفهم شيئا فاسأل مرة أخرى ولا تقلق بشأن الأخطاء الصغيرة. بعد عدة أسابيع ستلاحظ أنك تستطيع قراءة القصص البسيطة وفهم معظم ما يقوله الناس لك.",
    "في الصيف الماضي قضينا أسبوعين في قرية صغيرة على البحر. كان البيت قديما، ولكن كانت هناك حديقة كبيرة، وفي المساء كنا نجلس في الخارج ونتحدث حتى يحل الظلام. حكت لنا جدتي كيف جاءت إلى هناك وهي فتاة صغيرة، عندما لم يكن لدى أحد سيارة. أعتقد أنها كانت أفضل إجازة في حياتنا.",
    "إذا كان جهاز الكمبيوتر لا يعمل، فتأكد أولا من أن الكابل متصل. ثم اضغط على الزر وانتظر حوالي عشر ثوان. يمكن حل معظم المشاكل في بضع دقائق ولا تحتاج إلى أي أدوات خاصة. احفظ عملك قبل تثبيت التحديث، لأن النظام يجب أن يعاد تشغيله بعد ذلك.",
  ],
  Persian: [
    "یاد گرفتن یک زبان جدید زمان می‌برد، اما لازم نیست سخت باشد. با کلماتی که هر روز استفاده می‌کنید شروع کنید و سعی کنید هر روز صبح کمی صحبت کنید. اگر چیزی را نمی‌فهمید دوباره بپرسید و نگران اشتباهات کوچک نباشید. بعد از چند هفته می‌بینید که می‌توانید داستان‌های ساده را بخوانید.",
    "تابستان گذشته ما دو هفته در یک روستای کوچک کنار دریا بودیم. خانه قدیمی بود، اما باغ بزرگی داشت و شب‌ها بیرون می‌نشستیم و تا تاریک شدن هوا حرف می‌زدیم. مادربزرگم برای ما تعریف کرد که چطور در جوانی به آنجا آمده بود، وقتی هنوز هیچ کس ماشین نداشت. فکر می‌کنم این بهترین سفر زندگی ما بود.",
    "اگر کامپیوتر شما روشن نمی‌شود، اول بررسی کنید که کابل وصل باشد. سپس دکمه را فشار دهید و حدود ده ثانیه صبر کنید. بیشتر مشکلات را می‌توان در چند دقیقه حل کرد و به ابزار خاصی نیاز ندارید. قبل از نصب به‌روزرسانی کار خود را ذخیره کنید، چون بعد از آن سیستم باید دوباره راه‌اندازی شود.",
  ],
  Urdu: [
    "نئی زبان سیکھنے میں وقت لگتا ہے، لیکن یہ مشکل ہونا ضروری نہیں ہے۔ ان الفاظ سے شروع کریں جو آپ ہر روز استعمال کرتے ہیں اور ہر صبح تھوڑا بولنے کی کوشش کریں۔ اگر آپ کو کچھ سمجھ نہ آئے تو دوبارہ پوچھیں اور چھوٹی غلطیوں کی فکر نہ کریں۔ چند ہفتوں کے بعد آپ دیکھیں گے کہ آپ آسان کہانیاں پڑھ سکتے ہیں۔",
    "پچھلی گرمیوں میں ہم نے سمندر کے کنارے ایک چھوٹے سے گاؤں میں دو ہفتے گزارے۔ گھر پرانا تھا، لیکن وہاں ایک بڑا باغ تھا، اور شام کو ہم باہر بیٹھ کر اندھیرا ہونے تک باتیں کرتے تھے۔ میری دادی نے ہمیں بتایا کہ وہ جوانی میں وہاں کیسے آئی تھیں، جب کسی کے پاس گاڑی نہیں تھی۔ میرا خیال ہے کہ یہ ہماری زندگی کی سب سے اچھی چھٹیاں تھیں۔",
    "اگر آپ کا کمپیوٹر نہیں چل رہا تو پہلے دیکھیں کہ تار لگی ہوئی ہے یا نہیں۔ پھر بٹن دبائیں اور تقریباً دس سیکنڈ انتظار کریں۔ زیادہ تر مسائل چند منٹ میں حل ہو سکتے ہیں اور آپ کو کسی خاص چیز کی ضرورت نہیں ہے۔ اپنا کام محفوظ کر لیں کیونکہ اس کے بعد نظام کو دوبارہ شروع کرنا پڑتا ہے۔",
  ],
  Hebrew: [
    "ללמוד שפה חדשה לוקח זמן, אבל זה לא חייב להיות קשה. התחילו עם המילים שאתם משתמשים בהן כל יום ונסו לדבר קצת בכל בוקר. אם אתם לא מבינים משהו, תשאלו שוב ואל תדאגו מטעויות קטנות. אחרי כמה שבועות תראו שאתם יכולים לקרוא סיפורים פשוטים ולהבין את רוב מה שאנשים אומרים לכם.",
    "בקיץ שעבר היינו שבועיים בכפר קטן ליד הים. הבית היה ישן, אבל היה שם גן גדול, ובערב ישבנו בחוץ ודיברנו עד שירד החושך. סבתא שלי סיפרה לנו איך היא הגיעה לשם כשהייתה צעירה, כשלאף אחד עוד לא היה רכב. אני חושב שזאת הייתה החופשה הכי טובה שהייתה לנו.",
    "אם המחשב שלכם לא נדלק, בדקו קודם שהכבל מחובר. אחר כך לחצו על הכפתור וחכו בערך עשר שניות. את רוב הבעיות אפשר לפתור בתוך כמה דקות ולא צריך שום כלי מיוחד. שמרו את העבודה שלכם לפני שאתם מתקינים את העדכון, כי אחרי זה צריך להפעיל את המערכת מחדש.",
  ],
  Hindi: [
    "नई भाषा सीखने में समय लगता है, लेकिन यह मुश्किल होना ज़रूरी नहीं है। उन शब्दों से शुरू करें जिनका आप हर दिन उपयोग करते हैं और हर सुबह थोड़ा बोलने की कोशिश करें। अगर आपको कुछ समझ में नहीं आता है, तो फिर से पूछें और छोटी गलतियों की चिंता न करें। कुछ हफ़्तों के बाद आप देखेंगे कि आप सरल कहानियाँ पढ़ सकते हैं।",
    "पिछली गर्मियों में हम समुद्र के किनारे एक छोटे से गाँव में दो हफ़्ते रहे। घर पुराना था, लेकिन वहाँ एक बड़ा बगीचा था, और शाम को हम बाहर बैठकर अंधेरा होने तक बातें करते थे। मेरी दादी ने हमें बताया कि वह जवानी में वहाँ कैसे आई थीं, जब किसी के पास गाड़ी नहीं थी। मुझे लगता है कि यह हमारे जीवन की सबसे अच्छी छुट्टी थी।",
    "अगर आपका कंप्यूटर चालू नहीं हो रहा है, तो पहले देखें कि तार जुड़ा हुआ है या नहीं। फिर बटन दबाएँ और लगभग दस सेकंड तक इंतज़ार करें। ज़्यादातर समस्याएँ कुछ ही मिनटों में हल हो सकती हैं और आपको किसी विशेष उपकरण की आवश्यकता नहीं है। अपडेट करने से पहले अपना काम सहेज लें, क्योंकि उसके बाद सिस्टम को फिर से शुरू करना पड़ता है।",
  ],
  Bengali: [
    "নতুন ভাষা শিখতে সময় লাগে, কিন্তু এটা কঠিন হতে হবে এমন নয়। যে শব্দগুলো আপনি প্রতিদিন ব্যবহার করেন সেগুলো দিয়ে শুরু করুন এবং প্রতিদিন সকালে একটু কথা বলার চেষ্টা করুন। কিছু বুঝতে না পারলে আবার জিজ্ঞাসা করুন এবং ছোট ভুল নিয়ে চিন্তা করবেন না। কয়েক সপ্তাহ পরে আপনি দেখবেন যে আপনি সহজ গল্প পড়তে পারেন।",
    "গত গ্রীষ্মে আমরা সমুদ্রের ধারে একটি ছোট গ্রামে দুই সপ্তাহ ছিলাম। বাড়িটি পুরানো ছিল, কিন্তু সেখানে একটি বড় বাগান ছিল, এবং সন্ধ্যায় আমরা বাইরে বসে অন্ধকার না হওয়া পর্যন্ত কথা বলতাম। আমার দাদি আমাদের বলেছিলেন কীভাবে তিনি অল্প বয়সে সেখানে এসেছিলেন, যখন কারও গাড়ি ছিল না। আমার মনে হয় এটা আমাদের জীবনের সেরা ছুটি ছিল।",
    "আপনার কম্পিউটার চালু না হলে প্রথমে দেখুন তারটি ঠিকমতো লাগানো আছে কি না। তারপর বোতামটি চাপুন এবং প্রায় দশ সেকেন্ড অপেক্ষা করুন। বেশিরভাগ সমস্যা কয়েক মিনিটের মধ্যে সমাধান করা যায় এবং আপনার কোনো বিশেষ যন্ত্রের প্রয়োজন নেই। আপডেট করার আগে আপনার কাজ সংরক্ষণ করুন।",
  ],
  Tamil: [
    "புதிய மொழியைக் கற்றுக்கொள்ள நேரம் எடுக்கும், ஆனால் அது கடினமாக இருக்க வேண்டியதில்லை. நீங்கள் தினமும் பயன்படுத்தும் வார்த்தைகளுடன் தொடங்குங்கள், ஒவ்வொரு காலையிலும் கொஞ்சம் பேச முயற்சி செய்யுங்கள். உங்களுக்கு ஏதாவது புரியவில்லை என்றால் மீண்டும் கேளுங்கள், சிறிய தவறுகளைப் பற்றி கவலைப்பட வேண்டாம்.",
    "கடந்த கோடையில் நாங்கள் கடற்கரையில் உள்ள ஒரு சிறிய கிராமத்தில் இரண்டு வாரங்கள் இருந்தோம். வீடு பழையது, ஆனால் ஒரு பெரிய தோட்டம் இருந்தது, மாலையில் நாங்கள் வெளியே அமர்ந்து இருட்டும் வரை பேசிக்கொண்டு இருந்தோம். என் பாட்டி இளம் வயதில் அங்கு எப்படி வந்தார் என்று எங்களிடம் சொன்னார். அது எங்கள் வாழ்க்கையில் மிகச் சிறந்த விடுமுறை என்று நினைக்கிறேன்.",
    "உங்கள் கணினி இயங்கவில்லை என்றால், முதலில் கம்பி இணைக்கப்பட்டுள்ளதா என்று பாருங்கள். பின்னர் பொத்தானை அழுத்தி சுமார் பத்து வினாடிகள் காத்திருக்கவும். பெரும்பாலான பிரச்சனைகளை சில நிமிடங்களில் தீர்க்க முடியும், உங்களுக்கு எந்த சிறப்பு கருவியும் தேவையில்லை. புதுப்பிப்பதற்கு முன் உங்கள் வேலையைச் சேமிக்கவும்.",
  ],
  Thai: [
    "การเรียนภาษาใหม่ต้องใช้เวลา แต่ไม่จำเป็นต้องยาก เริ่มจากคำที่คุณใช้ทุกวันและพยายามพูดสักเล็กน้อยทุกเช้า ถ้าคุณไม่เข้าใจอะไร ให้ถามอีกครั้งและอย่ากังวลกับความผิดพลาดเล็กๆ น้อยๆ หลังจากผ่านไปไม่กี่สัปดาห์ คุณจะเห็นว่าคุณสามารถอ่านเรื่องง่ายๆ ได้ ประเทศไทยเป็นประเทศที่ตั้งอยู่ในเอเชียตะวันออกเฉียงใต้ สามารถติดต่อสอบถามรายละเอียดเพิ่มเติมได้ที่นี่ นอกจากนี้ยังมีบริการที่มีคุณภาพสำหรับลูกค้าทุกคน",
    "ฤดูร้อนที่แล้วเราไปอยู่ที่หมู่บ้านเล็กๆ ริมทะเลเป็นเวลาสองสัปดาห์ บ้านหลังนั้นเก่าแล้ว แต่มีสวนขนาดใหญ่ และในตอนเย็นเรานั่งคุยกันข้างนอกจนมืด คุณยายเล่าให้เราฟังว่าท่านมาที่นั่นได้อย่างไรตอนที่ยังเป็นสาว ในสมัยที่ยังไม่มีใครมีรถยนต์ ฉันคิดว่านั่นเป็นวันหยุดที่ดีที่สุดที่เราเคยมี",
    "ถ้าคอมพิวเตอร์ของคุณเปิดไม่ติด ให้ตรวจสอบก่อนว่าสายไฟเชื่อมต่ออยู่หรือไม่ จากนั้นกดปุ่มและรอประมาณสิบวินาที ปัญหาส่วนใหญ่สามารถแก้ไขได้ภายในไม่กี่นาที และคุณไม่จำเป็นต้องใช้เครื่องมือพิเศษ กรุณาบันทึกงานของคุณก่อนติดตั้งการอัปเดต เพราะหลังจากนั้นต้องเริ่มระบบใหม่",
    "บริษัทของเรามีประสบการณ์มากกว่าสิบปีในการให้บริการลูกค้า ผู้ใช้สามารถเลือกสินค้าที่ต้องการและชำระเงินผ่านเว็บไซต์ได้อย่างสะดวกและปลอดภัย",
  ],
  Burmese: [
    "ဘာသာစကားအသစ်တစ်ခုကို သင်ယူရန် အချိန်လိုအပ်ပါသည်။ ဒါပေမဲ့ ခက်ခဲစရာ မလိုပါဘူး။ နေ့တိုင်း အသုံးပြုနေတဲ့ စကားလုံးတွေနဲ့ စတင်ပါ။ မနက်တိုင်း နည်းနည်း ပြောကြည့်ပါ။ တစ်ခုခု နားမလည်ရင် ထပ်မေးပါ။ အမှားလေးတွေအတွက် စိတ်မပူပါနဲ့။ ရက်သတ္တပတ် အနည်းငယ်ကြာရင် ရိုးရှင်းတဲ့ ပုံပြင်တွေကို ဖတ်နိုင်တာ တွေ့ရပါလိမ့်မယ်။ မြန်မာနိုင်ငံသည် အရှေ့တောင်အာရှရှိ နိုင်ငံတစ်နိုင်ငံဖြစ်သည်။ ကျွန်တော်တို့၏ ဝန်ဆောင်မှုများကို အသုံးပြုနိုင်ပါသည်။",
    "ပြီးခဲ့တဲ့ နွေရာသီမှာ ကျွန်တော်တို့ ပင်လယ်ကမ်းခြေက ရွာလေးတစ်ရွာမှာ နှစ်ပတ်ကြာ နေခဲ့ကြတယ်။ အိမ်က ဟောင်းနေပြီ၊ ဒါပေမဲ့ ဥယျာဉ်ကြီးတစ်ခု ရှိတယ်။ ညနေဘက်မှာ အပြင်မှာထိုင်ပြီး မှောင်တဲ့အထိ စကားပြောကြတယ်။ အဘွားက သူငယ်ငယ်က ဒီကို ဘယ်လိုရောက်လာတယ်ဆိုတာ ပြောပြတယ်။ အဲဒီအချိန်က ဘယ်သူမှ ကားမရှိသေးဘူး။",
    "သင့်ကွန်ပျူတာ မဖွင့်နိုင်ရင် ကြိုးချိတ်ထားခြင်း ရှိမရှိ အရင်စစ်ဆေးပါ။ ပြီးရင် ခလုတ်ကိုနှိပ်ပြီး ဆယ်စက္ကန့်လောက် စောင့်ပါ။ ပြဿနာအများစုကို မိနစ်အနည်းငယ်အတွင်း ဖြေရှင်းနိုင်ပါတယ်။ အထူးကိရိယာ မလိုအပ်ပါဘူး။ အသစ်ထည့်သွင်းခြင်းမပြုမီ သင့်အလုပ်ကို သိမ်းဆည်းပါ။",
    "အစိုးရသည် ပညာရေးနှင့် ကျန်းမာရေးအတွက် အသုံးစရိတ်ကို တိုးမြှင့်ခဲ့သည်။ ထို့ကြောင့် ပြည်သူများအတွက် အလွန်အရေးကြီးပါသည်။",
  ],
  Japanese: [
    "新しい言語を学ぶには時間がかかりますが、難しい必要はありません。毎日使う言葉から始めて、毎朝少しずつ話してみてください。分からないことがあれば、もう一度聞いてください。小さな間違いを心配する必要はありません。数週間後には、簡単な話を読めるようになり、人の言うことがほとんど分かるようになるでしょう。人工知能とは、コンピュータを使って人間の知能を実現しようとする技術のことです。近年では、さまざまな分野で利用されています。ご質問がありましたら、お気軽にお問い合わせください。東京は日本の首都であり、世界最大の都市の一つです。この記事では、観光スポットやおすすめのレストランについて紹介します。",
    "去年の夏、私たちは海の近くの小さな村で二週間過ごしました。家は古かったのですが、大きな庭があって、夜は暗くなるまで外に座って話していました。祖母は、まだ誰も車を持っていなかった頃、若い時にどうやってそこに来たのかを話してくれました。今までで一番楽しい休みだったと思います。",
    "コンピューターが起動しない場合は、まずケーブルが接続されているか確認してください。次に、ボタンを押して十秒ほど待ちます。ほとんどの問題は数分で解決でき、特別な道具は必要ありません。更新をインストールする前に、作業中のファイルを保存してください。その後、システムを再起動する必要があります。",
    "政府は来年度の予算案を発表しました。この問題については、今後さらに議論が必要だと考えられています。詳しい情報は公式サイトをご覧ください。",
  ],
  Korean: [
    "새로운 언어를 배우는 데는 시간이 걸리지만 어려울 필요는 없습니다. 매일 사용하는 단어부터 시작하고 매일 아침 조금씩 말해 보세요. 이해가 안 되는 것이 있으면 다시 물어보고 작은 실수는 걱정하지 마세요. 몇 주가 지나면 간단한 이야기를 읽을 수 있고 사람들이 하는 말을 대부분 이해할 수 있을 것입니다. 대한민국은 동아시아의 한반도 남부에 위치한 나라이다. 수도는 서울특별시이며, 국가와 정부의 공식 언어는 한국어이다. 우리는 이 문제를 해결하기 위해 다양한 방법을 사용할 수 있습니다. 개인정보를 제공하지 않습니다.",
    "지난 여름에 우리는 바닷가의 작은 마을에서 2주를 보냈습니다. 집은 오래되었지만 큰 정원이 있었고, 저녁에는 어두워질 때까지 밖에 앉아서 이야기를 했습니다. 할머니는 아무도 차가 없던 시절에 젊은 나이로 어떻게 그곳에 오게 되었는지 이야기해 주셨습니다. 우리가 지금까지 보낸 휴가 중에서 가장 좋은 휴가였다고 생각합니다.",
    "컴퓨터가 켜지지 않으면 먼저 케이블이 연결되어 있는지 확인하세요. 그런 다음 버튼을 누르고 약 10초 정도 기다리세요. 대부분의 문제는 몇 분 안에 해결할 수 있으며 특별한 도구가 필요하지 않습니다. 업데이트를 설치하기 전에 작업을 저장하세요. 그 후에는 시스템을 다시 시작해야 하기 때문입니다.",
    "정부는 내년 예산안을 발표했다. 전문가들은 이 기술이 앞으로 다양한 분야에서 활용될 것으로 보고 있다. 자세한 내용은 홈페이지를 참고하시기 바랍니다.",
  ],
  "Chinese, simplified": [
    "学习一门新的语言需要时间，但并不一定很难。从你每天使用的词语开始，每天早上试着说一点。如果有什么不明白的地方，可以再问一次，不要担心小错误。几个星期以后，你会发现自己可以阅读简单的故事，也能听懂别人说的大部分内容。中国是世界上历史最悠久的国家之一。中国各族人民共同创造了光辉灿烂的文化，具有光荣的革命传统。中华人民共和国成立以后，我国社会逐步实现了由新民主主义到社会主义的过渡。人工智能是计算机科学的一个分支，它企图了解智能的实质，并生产出一种新的能以人类智能相似的方式做出反应的智能机器。该领域的研究包括机器人、语言识别、图像识别、自然语言处理和专家系统等。我们公司成立于2005年，是一家专业从事产品研发、生产和销售的企业。公司拥有先进的生产设备和完善的管理体系，产品质量稳定，价格合理，深受广大客户的欢迎。如果您有任何问题，请随时联系我们。",
    "去年夏天，我们在海边的一个小村子里住了两个星期。房子虽然很旧，但是有一个很大的花园，晚上我们坐在外面聊天，一直到天黑。奶奶告诉我们她年轻的时候是怎么来到这里的，那时候还没有人有汽车。我觉得这是我们过得最好的一个假期。",
    "如果您的电脑无法启动，请先检查电源线是否已经连接。然后按下按钮，等待大约十秒钟。大多数问题都可以在几分钟内解决，不需要任何特殊的工具。安装更新之前，请保存您的工作，因为之后系统需要重新启动。",
    "根据相关部门的统计，近年来我国经济保持稳定增长，人民生活水平不断提高。专家表示，这项技术在未来几年内将得到广泛应用。",
  ],
  "Chinese, traditional": [
    "學習一門新的語言需要時間，但並不一定很難。從你每天使用的詞語開始，每天早上試著說一點。如果有什麼不明白的地方，可以再問一次，不要擔心小錯誤。幾個星期以後，你會發現自己可以閱讀簡單的故事，也能聽懂別人說的大部分內容。",
    "去年夏天，我們在海邊的一個小村子裡住了兩個星期。房子雖然很舊，但是有一個很大的花園，晚上我們坐在外面聊天，一直到天黑。奶奶告訴我們她年輕的時候是怎麼來到這裡的，那時候還沒有人有汽車。我覺得這是我們過得最好的一個假期。",
    "如果您的電腦無法啟動，請先檢查電源線是否已經連接。然後按下按鈕，等待大約十秒鐘。大多數問題都可以在幾分鐘內解決，不需要任何特殊的工具。安裝更新之前，請保存您的工作，因為之後系統需要重新啟動。",
  ],
};
